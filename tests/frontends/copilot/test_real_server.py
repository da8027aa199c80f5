"""The Copilot Language Server itself: the same answers with the proxy and without, and a chat whose model is a stand-in's.

Carrel doesn't ship it: set CARREL_COPILOT_SERVER to its program, or to its language-server.js.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.copilot.conftest import Client, Start, initialize
from tests.frontends.copilot.github_api import MODEL, listening

SERVER = os.environ.get("CARREL_COPILOT_SERVER", "")
COMMAND = [*(["node"] if SERVER.endswith(".js") else []), SERVER, "--stdio"]
EDITOR = {
    "initializationOptions": {
        "editorInfo": {"name": "test", "version": "1"},
        "editorPluginInfo": {"name": "test", "version": "1"},
    }
}
pytestmark = pytest.mark.skipif(not SERVER or not shutil.which(COMMAND[0]), reason="CARREL_COPILOT_SERVER isn't set")


@pytest.fixture
def direct(env: dict[str, str]) -> Iterator[Client]:
    client = Client(COMMAND, env)
    yield client
    client.kill()


def conversation(client: Client, project: Path) -> list[Any]:
    """Handshake, status and requests that fail for somebody who isn't signed in."""
    uri = project.as_uri()
    answers: list[Any] = [
        client.request(
            1,
            "initialize",
            {
                "processId": os.getpid(),
                "capabilities": {"workspace": {"workspaceFolders": True}},
                "workspaceFolders": [{"uri": uri, "name": "shop"}],
                **EDITOR,
            },
        )
    ]
    client.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    turns = [{"request": "how does login work?"}]
    for number, (method, params) in enumerate(
        (
            ("checkStatus", {}),
            ("conversation/create", {"workDoneToken": "t", "turns": turns, "capabilities": {"skills": []}}),
            ("conversation/create", {"workDoneToken": "t", "turns": turns, "capabilities": {"skills": []}, "model": "gpt-4o"}),
            ("conversation/turn", {"workDoneToken": "t", "conversationId": "none", "message": "how does login work?"}),
            ("conversation/create", {"turns": 5}),
            ("no/such", {}),
            ("shutdown", None),
        ),
        2,
    ):
        answers.append(client.request(number, method, params))
    client.send({"jsonrpc": "2.0", "method": "exit"})
    answers.append(client.process.wait(20))
    return answers


@pytest.mark.timeout(180)
def test_answers_and_errors_are_equal_with_and_without_the_proxy(direct: Client, start: Start, project: Path) -> None:
    expected = conversation(direct, project)
    assert expected[1]["result"]["status"] == "NotSignedIn"
    assert "error" in expected[2]
    assert conversation(start("--deadline-ms", "2000", command=COMMAND), project) == expected
    assert conversation(start("--mode", "off", command=COMMAND), project) == expected


@pytest.mark.timeout(180)
def test_an_answer_of_the_server_itself_is_checked(
    start: Start, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening() as api:
        for name, value in {**api.environment, "HOME": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        client = start("--deadline-ms", "10000", command=COMMAND)
        initialize(client, project, **EDITOR)
        for number in range(40):  # Carrel's server takes a while to start; until then turns pass as they are
            if client.request(f"status{number}", "checkStatus", {}).get("result", {}).get("status") == "OK":
                break
            time.sleep(0.25)
        api.answer = ("The pool is in pool.py:1-2, its li", "mit in pool.py:70-75.")
        params = {
            "workDoneToken": "t",
            "turns": [{"request": "how is the pool configured?"}],
            "capabilities": {"skills": []},
            "workspaceFolder": project.as_uri(),
            "source": "panel",
            "modelInfo": {"id": MODEL},
        }
        client.send({"jsonrpc": "2.0", "id": "create", "method": "conversation/create", "params": params})
        said: list[dict[str, Any]] = []
        while not said or said[-1]["kind"] != "end":
            message = client.read()
            assert "error" not in message, message
            if message.get("method") == "$/progress":
                said.append(message["params"]["value"])
        assert "<rag_context>" in api.prompts[0]
        texts = [part["reply"] for value in said for part in value.get("editAgentRounds", [])]
        assert "".join(texts[:-1]) == "".join(api.answer)
        assert texts[-1].strip() == "> Carrel could not confirm `pool.py:70-75` (line 70 was not given)."
        assert said[-2]["citations"]["cited"] == 2
        client.kill()
