"""The Copilot Language Server itself gives the same answers with the proxy and without.

Carrel doesn't ship it: set CARREL_COPILOT_SERVER to its program, or to its language-server.js.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.copilot.conftest import Client, Start

SERVER = os.environ.get("CARREL_COPILOT_SERVER", "")
COMMAND = [*(["node"] if SERVER.endswith(".js") else []), SERVER, "--stdio"]
pytestmark = pytest.mark.skipif(not SERVER or not shutil.which(COMMAND[0]), reason="CARREL_COPILOT_SERVER isn't set")


@pytest.fixture
def direct(env: dict[str, str]) -> Iterator[Client]:
    client = Client(COMMAND, env)
    yield client
    client.kill()


def conversation(client: Client, project: Path) -> list[Any]:
    """Handshake, status and requests that fail for somebody who isn't signed in."""
    editor = {"editorInfo": {"name": "test", "version": "1"}, "editorPluginInfo": {"name": "test", "version": "1"}}
    uri = project.as_uri()
    answers: list[Any] = [
        client.request(
            1,
            "initialize",
            {
                "processId": os.getpid(),
                "capabilities": {"workspace": {"workspaceFolders": True}},
                "workspaceFolders": [{"uri": uri, "name": "shop"}],
                "initializationOptions": editor,
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
