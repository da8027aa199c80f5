"""The real Aider, Continue, Open WebUI and Claude Code, the real proxy, a local upstream. What isn't installed is skipped.

CARREL_AIDER, CARREL_OPEN_WEBUI, CARREL_CONTINUE and CARREL_CLAUDE name the programs; the last wants Node.js 22 on PATH.

python -m venv /tmp/aider && /tmp/aider/bin/pip install aider-chat==0.86.2
python -m venv /tmp/webui && /tmp/webui/bin/pip install uv && /tmp/webui/bin/uv pip install --python /tmp/webui open-webui==0.12.4
npm install --prefix /tmp/continue @continuedev/cli@1.5.47
npm install --prefix /tmp/claude node@22 @anthropic-ai/claude-code@2.1.332
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.frontends.chat_proxy.conftest import WORDS, Start, Upstream
from tests.shop import index

QUESTION = "how does login work?"
SAID = "".join(WORDS)


def program(variable: str, name: str) -> str:
    """The program, or a skip that says what is missing."""
    found = shutil.which(os.environ.get(variable) or name)
    if found is None:
        pytest.skip(f"{name} isn't installed; set {variable} to it")
    return found


def chats(upstream: Upstream) -> list[dict[str, Any]]:
    return [body for path, _, body in upstream.requests if path.endswith("/chat/completions")]


def check(body: dict[str, Any], *, context: bool = True) -> None:
    """The last user message holds the context and then what the program sent, or only this."""
    content = [message for message in body["messages"] if message["role"] == "user"][-1]["content"]
    text = content if isinstance(content, str) else next(part["text"] for part in content if part["type"] == "text")
    if context:
        head, _, text = text.partition("</rag_context>\n\n")
        assert head.startswith("<rag_context>")
        assert 'file="auth.py"' in head
        assert ".aider" not in head
    assert "rag_context" not in text
    assert text.startswith(QUESTION)


def switch_off(env: dict[str, str]) -> None:
    folder = Path(env["XDG_CONFIG_HOME"]) / "carrel"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.toml").write_text("ragEnabled = false\n", "utf-8")


def run(command: list[str], env: dict[str, str], cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CI")}
    done = subprocess.run(
        command, env={**clean, **env}, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("streamed", [True, False])
def test_aider(start: Start, upstream: Upstream, project: Path, env: dict[str, str], streamed: bool) -> None:
    aider = program("CARREL_AIDER", "aider")
    proxy = start()
    options = (
        "--no-git --yes-always --no-check-update --analytics-disable --no-show-model-warnings --no-show-release-notes --no-pretty"
    )
    command = [aider, *options.split(), "--stream" if streamed else "--no-stream", "--model", "openai/m"]
    command += ["--openai-api-base", f"{proxy.url}/v1", "--openai-api-key", "sk-secret", "--message", QUESTION, "auth.py"]
    # Twice: the second finds the first's logs in the project.
    for _ in range(2):
        assert (SAID if streamed else "yes") in run(command, env, project)
        index(project, env)
        assert bool(chats(upstream)[-1].get("stream")) == streamed
        check(chats(upstream)[-1])
    switch_off(env)
    run(command, env, project)
    check(chats(upstream)[-1], context=False)
    assert "sk-secret" not in proxy.stop()


def test_continue(start: Start, upstream: Upstream, project: Path, env: dict[str, str], tmp_path: Path) -> None:
    cn = program("CARREL_CONTINUE", "cn")
    config = tmp_path / "config.yaml"
    model = {"name": "m", "provider": "openai", "model": "m", "apiBase": f"{start().url}/v1", "apiKey": "sk-secret"}
    lines = ["name: local", "version: 0.0.1", "schema: v1", "models:", "  - roles: [chat]"]
    config.write_text("\n".join([*lines, *(f"    {key}: {value}" for key, value in model.items())]), "utf-8")
    command = [cn, "-p", QUESTION, "--config", str(config), "--auto"]
    assert SAID in run(command, env, project)
    body = chats(upstream)[-1]
    check(body)
    assert body["stream"]
    assert body["stream_options"] == {"include_usage": True}
    assert {tool["function"]["name"] for tool in body["tools"]} >= {"Read", "List"}
    # Two tools at once, and then the same question again with what they gave.
    upstream.calls = [("Read", {"filepath": str(project / "auth.py")}), ("List", {"dirpath": str(project)})]
    assert SAID in run(command, env, project)
    body = chats(upstream)[-1]
    assert [message["role"] for message in body["messages"]][-4:] == ["user", "assistant", "tool", "tool"]
    assert "authenticate_user" in str(body["messages"][-2]["content"])
    check(body)
    upstream.calls = []
    switch_off(env)
    run(command, env, project)
    check(chats(upstream)[-1], context=False)


def test_claude_code(start: Start, upstream: Upstream, project: Path, env: dict[str, str], tmp_path: Path) -> None:
    claude = program("CARREL_CLAUDE", "claude")
    own = {"HOME": str(tmp_path), "ANTHROPIC_BASE_URL": start().url, "ANTHROPIC_API_KEY": "sk-secret"}
    path = {"PATH": os.pathsep.join([str(Path(claude).parent), os.environ["PATH"]])}
    upstream.calls = [("Read", {"file_path": str(project / "auth.py")})]
    session = str(uuid.uuid4())
    for prompt, option in ((QUESTION, "--session-id"), ("and who calls authenticate_user?", "--resume")):
        assert SAID in run([claude, "-p", prompt, option, session], {**env, **own, **path}, project)
    sent = [body["messages"] for path, _, body in upstream.requests if path == "/v1/messages?beta=true"]
    assert len(sent) == 4  # each prompt, and what the tool gave
    blocks = [texts(messages) for messages in sent]
    for before, after in itertools.pairwise(blocks):
        assert after[: len(before)] == before
    assert [sum(text.startswith("<rag_context>") for text in one) for one in blocks] == [1, 1, 2, 2]
    assert blocks[-1][blocks[-1].index(QUESTION) + 1].startswith("<rag_context>")


def texts(messages: list[dict[str, Any]]) -> list[str]:
    """What the user's messages say, however they are written."""
    contents = [message["content"] for message in messages if message["role"] == "user"]
    parts = [[{"type": "text", "text": content}] if isinstance(content, str) else content for content in contents]
    return [part["text"] for part in itertools.chain(*parts) if part["type"] == "text"]


@pytest.fixture
def open_webui(start: Start, env: dict[str, str], tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a fresh Open WebUI whose only connection is the proxy."""
    command = program("CARREL_OPEN_WEBUI", "open-webui")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "DATA_DIR": str(tmp_path / "data"),
        "OPENAI_API_BASE_URL": f"{start().url}/v1",
        "OPENAI_API_KEY": "sk-secret",
        "WEBUI_AUTH": "False",
        "ENABLE_OLLAMA_API": "False",
        "OFFLINE_MODE": "True",
        "RAG_EMBEDDING_ENGINE": "openai",  # its own would be downloaded
        "ANONYMIZED_TELEMETRY": "false",
    }
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CI")}
    process = subprocess.Popen(
        [command, "serve", "--host", "127.0.0.1", "--port", str(port)],
        env={**clean, **env, **settings},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            _wait_for(client, process)
            signed_in = client.post("/api/v1/auths/signin", json={"email": "", "password": ""}).json()
            client.headers["Authorization"] = f"Bearer {signed_in['token']}"
            yield client
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    for _ in range(1_200):  # it loads for a minute, on a busy machine for several
        assert process.poll() is None, "Open WebUI ended"
        try:
            if client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.25)
    pytest.fail("Open WebUI doesn't answer")


@pytest.mark.timeout(420)
def test_open_webui(open_webui: httpx.Client, upstream: Upstream, env: dict[str, str]) -> None:
    assert [model["id"] for model in open_webui.get("/api/models").json()["data"]] == ["m"]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    ask: Any = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}

    answer = open_webui.post("/api/chat/completions", json=ask).json()
    assert answer["choices"][0]["message"]["content"] == "yes"
    check(chats(upstream)[-1])
    streamed = open_webui.post("/api/chat/completions", json={**ask, "stream": True, "stream_options": {"include_usage": True}})
    assert streamed.text.count("data: ") == len(WORDS) + 1
    check(chats(upstream)[-1])
    ask["messages"][0]["content"] = [{"type": "text", "text": QUESTION}, picture]
    open_webui.post("/api/chat/completions", json=ask).raise_for_status()
    check(chats(upstream)[-1])
    assert chats(upstream)[-1]["messages"][-1]["content"][1] == picture

    title = {"model": "m", "messages": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "yes"}]}
    open_webui.post("/api/v1/tasks/title/completions", json=title).raise_for_status()
    assert "rag_context" not in str(chats(upstream)[-1])
    switch_off(env)
    open_webui.post("/api/chat/completions", json=ask).raise_for_status()
    check(chats(upstream)[-1], context=False)
