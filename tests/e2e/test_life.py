"""From `initialize` to the end of the process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspClient, LspError
from tests.shop import write_many

from carrel.frontends.common.transport import frame
from carrel.frontends.common.uris import path_to_uri

ON_SHARED = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"processId": None, "rootUri": None, "capabilities": {}},
        {"rootPath": "{root}", "capabilities": {}, "initializationOptions": {"carrel": {"ragTopK": 3}}},
        {"rootUri": "{uri}", "workspaceFolders": None, "capabilities": {"general": {"positionEncodings": ["utf-8", "utf-16"]}}},
        {
            "workspaceFolders": [{"uri": "vscode-remote://host/x", "name": "x"}, {"uri": "{uri}", "name": "shop"}],
            "capabilities": {},
            "initializationOptions": [1],
            "trace": "off",
        },
        {"workspaceFolders": [{"uri": "{uri}", "name": "shop"}], "capabilities": {"window": 5}},
        {"rootUri": "{uri}", "capabilities": {"textDocument": []}, "workspaceFolders": 7},
    ],
)
async def test_initialize_is_answered_however_it_is_written(project: Path, env: dict[str, str], variant: dict[str, Any]) -> None:
    text = json.dumps(variant).replace("{uri}", path_to_uri(str(project))).replace("{root}", str(project))
    client = await LspClient.spawn(env=env)
    try:
        result = await client.request("initialize", json.loads(text))
        assert result["capabilities"]["positionEncoding"] == "utf-16"
        assert result["capabilities"]["textDocumentSync"]["change"] == 2
        client.notify("initialized", {})
        if "shop" in text:
            status = await client.request("carrel/status", {})
            assert status["workspaceFolder"] == path_to_uri(str(project))
        assert await client.stop() == 0
    finally:
        await client.kill()


async def test_initialize_twice_gives_one_answer_each(project: Path, env: dict[str, str]) -> None:
    client = await LspClient.spawn(env=env)
    first = await client.initialize(project)
    assert first["serverInfo"]["name"] == "carrel"
    assert await client.request("initialize", {"capabilities": {}}) == first
    await client.kill()


async def test_requests_before_initialize_and_after_shutdown_are_refused(project: Path, env: dict[str, str]) -> None:
    client = await LspClient.spawn(env=env)
    with pytest.raises(LspError) as early:
        await client.request("carrel/status", {})
    assert early.value.code == -32002
    await client.initialize(project)
    await client.request("shutdown")
    with pytest.raises(LspError) as late:
        await client.request("carrel/status", {})
    assert late.value.code == -32600
    client.notify("exit", None)
    assert await asyncio.wait_for(client.process.wait(), 20) == 0
    await client.kill()


BEFORE_EXIT: tuple[tuple[str, Any], ...] = (("initialize", {"capabilities": {}}), ("shutdown", None), ("carrel/status", {}))


async def test_what_comes_while_the_server_is_loading_counts_as_later(project: Path, env: dict[str, str]) -> None:
    client = await LspClient.spawn(env=env)
    asked = [client.send(method, params)[1] for method, params in BEFORE_EXIT]
    client.notify("exit", None)
    answers = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 60)
    assert [getattr(answer, "code", 0) for answer in answers] == [0, 0, -32600]
    assert await asyncio.wait_for(client.process.wait(), 20) == 0
    await client.kill()


@pytest.mark.parametrize(
    ("sent", "cause"),
    [
        (b"", "before the first message"),
        (b"Content-Length: many\r\n\r\n{}", "before the first message"),
        (b"Content-Length: 100\r\n\r\n{}", "after 2 of a message's 100 bytes"),
        (
            frame(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}') + b"oops\r\n\r\n",
            "6 bytes of the input were skipped",
        ),
    ],
)
def test_input_that_is_no_message_ends_the_server_with_the_cause(env: dict[str, str], sent: bytes, cause: str) -> None:
    command = [sys.executable, "-m", "carrel", "serve"]
    done = subprocess.run(command, input=sent, env={**os.environ, **env}, capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    assert cause in done.stderr.decode()


async def test_exit_without_shutdown_is_code_one(project: Path, env: dict[str, str]) -> None:
    client = await LspClient.spawn(env=env)
    await client.initialize(project)
    client.notify("exit", None)
    assert await asyncio.wait_for(client.process.wait(), 20) == 1
    await client.kill()


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("carrel/search", {"query": 1}, -32602),
        ("carrel/search", [1], -32602),
        ("carrel/context", {"query": "q", "topK": 99}, -32602),
        ("carrel/search", {"query": "q", "workspaceFolder": "file:///somewhere/else"}, -32602),
        ("carrel/nothing", {}, -32601),
        ("textDocument/hover", {}, -32602),
        ("textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}}, -32601),
        ("workspace/executeCommand", {"command": "carrel.nothing"}, -32602),
        ("workspace/executeCommand", {"command": "carrel.search", "arguments": [1, 2]}, -32602),
        ("workspace/executeCommand", {"command": "carrel.search", "arguments": [{}]}, -32602),
    ],
)
@ON_SHARED
async def test_every_bad_request_gets_an_error(opened: Start, project: Path, method: str, params: Any, code: int) -> None:
    async with opened(project) as client:
        with pytest.raises(LspError) as caught:
            await client.request(method, params)
        assert caught.value.code == code


@ON_SHARED
async def test_rubbish_between_messages_does_no_harm(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        for rubbish in (
            b"{",
            b"[]",
            b'"x"',
            b"{}",
            b'{"jsonrpc":"2.0","method":5,"id":1}',
            b'{"jsonrpc":"2.0","id":77,"result":1}',
            b"\xff\xfe",
        ):
            client.write(rubbish)
        client.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": "file:///never/opened", "version": 1}, "contentChanges": [{"text": "x"}]},
        )
        client.notify("textDocument/didOpen", {"wrong": True})
        client.notify("$/cancelRequest", {"id": 4711})
        client.notify("window/workDoneProgress/cancel", {"token": "never seen"})
        assert (await client.request("carrel/status", {}))["state"] == "empty"


@ON_SHARED
async def test_bytes_that_belong_to_no_message_are_skipped(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        assert client.process.stdin
        for garbage in (
            b"\0\0\0",
            b"oops\r\n\r\n",
            b"Content-Length: x\r\n\r\n{}",
            b"Content-Length: 9" + b"9" * 20 + b"\r\n\r\n{}",
            b"\xff" * 9000,
        ):
            client.process.stdin.write(garbage)
            assert (await client.request("carrel/status", {}))["state"] == "empty"


async def test_stdout_carries_nothing_but_messages(project: Path, env: dict[str, str], tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "import os, sys\nfrom carrel.frontends.common import transport\nfrom carrel.frontends.lsp import serve\n"
        "claim = transport.claim_stdio\n"
        "def loud():\n    streams = claim()\n    print('python prints')\n"
        "    os.write(1, b'C prints\\n'); os.system('echo a child prints')\n"
        "    return streams\n"
        "serve.claim_stdio = loud\nserve.main()\n"
    )
    client = await LspClient.spawn((sys.executable, str(noisy)), env=env, stderr=asyncio.subprocess.PIPE)
    await client.initialize(project)
    assert (await client.request("carrel/status", {}))["state"] == "empty"
    assert await client.stop() == 0
    assert client.process.stderr is not None
    stderr = await client.process.stderr.read()
    assert all(words in stderr for words in (b"python prints", b"C prints", b"a child prints"))
    await client.kill()


async def test_end_of_input_ends_the_server_also_while_indexing(
    env: dict[str, str], options: dict[str, Any], tmp_path: Path
) -> None:
    root = tmp_path / "big"
    write_many(root, 400, 200)
    client = await LspClient.spawn(env=env)
    await client.initialize(root, options=options)
    client.send("carrel/index", {"workDoneToken": "t"})
    await client.wait_for("$/progress")
    assert client.process.stdin is not None
    client.process.stdin.close()
    await asyncio.wait_for(client.process.wait(), 20)
    await client.kill()


async def test_the_death_of_the_editor_ends_the_server(project: Path, env: dict[str, str]) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")
    client = await LspClient.spawn(env=env)
    await client.request("initialize", {"processId": editor.pid, "capabilities": {}, "rootUri": path_to_uri(str(project))})
    client.notify("initialized", {})
    await client.request("carrel/status", {})
    os.kill(editor.pid, signal.SIGKILL)
    await editor.wait()
    # Its pipe to us is open still: only the process id tells.
    await asyncio.wait_for(client.process.wait(), 20)
    await client.kill()


async def test_shutdown_stops_a_running_index_and_answers(env: dict[str, str], options: dict[str, Any], tmp_path: Path) -> None:
    root = tmp_path / "big"
    write_many(root, 400, 200)
    client = await LspClient.spawn(env=env)
    await client.initialize(root, options=options)
    _, index = client.send("carrel/index", {"workDoneToken": "t"})
    await client.wait_for("$/progress")
    assert await client.stop() == 0
    assert index.exception() is not None
    await client.kill()


async def test_logs_hold_no_content(project: Path, env: dict[str, str], options: dict[str, Any]) -> None:
    client = await LspClient.spawn(env=env, stderr=asyncio.subprocess.PIPE)
    await client.initialize(project, options={**options, "logLevel": "debug"})
    await client.request("carrel/index", {})
    await client.request("carrel/context", {"query": "authenticate xylophone", "trigger": "explicit"})
    with pytest.raises(LspError):
        await client.request("carrel/search", {"query": ["xylophone"]})
    client.notify("textDocument/didOpen", {"xylophone": "xylophone"})
    await client.stop()
    assert client.process.stderr is not None
    logged = (await client.process.stderr.read()).decode() + json.dumps(client.notifications)
    assert "xylophone" not in logged
    assert "load_account" not in logged
    await client.kill()


async def test_a_parent_on_another_machine_is_no_reason_to_end(project: Path, env: dict[str, str]) -> None:
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    client = await LspClient.spawn(env=env)
    await client.request("initialize", {"processId": gone.pid, "capabilities": {}, "rootUri": path_to_uri(str(project))})
    client.notify("initialized", {})
    for _ in range(2):
        assert (await client.request("carrel/status", {}))["state"] == "empty"
    assert await client.stop() == 0
    await client.kill()


async def test_an_idle_server_uses_no_processor(start: Start, project: Path) -> None:
    import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - only here

    async with start(project) as client:
        await client.request("carrel/index", {})
        await asyncio.sleep(0.5)
        process = psutil.Process(client.process.pid)
        before = sum(process.cpu_times()[:2])
        await asyncio.sleep(3)
        assert round(sum(process.cpu_times()[:2]) - before, 3) <= 0.02  # two ticks of the clock


async def test_a_terminate_signal_ends_the_server_cleanly(
    start: Start, project: Path, env: dict[str, str], options: dict[str, Any]
) -> None:
    client = await LspClient.spawn(env=env)
    await client.initialize(project, options=options)
    await client.request("carrel/index", {})
    client.process.terminate()
    assert await asyncio.wait_for(client.process.wait(), 20) in (143, -15)
    await client.kill()
    async with start(project) as second:
        await second.request("carrel/search", {"query": "order"})
        assert (await second.request("carrel/status", {}))["role"] == "writer"


async def raw_answer(client: LspClient, identity: int, body: bytes) -> Any:
    """The result of a request that is sent as these bytes."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    client._waiting[identity] = future
    client.write(body)
    return await asyncio.wait_for(future, 30)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":901,"method":"carrel/context","params":{"query":"parse \\ud83d config","trigger":"explicit"}}',
        b'{"jsonrpc":"2.0","id":901,"method":"carrel/context","params":{"query":"parse \xff config","trigger":"explicit"}}',
    ],
)
@ON_SHARED
async def test_half_an_emoji_or_a_broken_byte_does_not_leave_a_chat_waiting(opened: Start, project: Path, body: bytes) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        answer = await raw_answer(client, 901, body)
        assert answer["state"] in ("ready", "indexing"), "the watcher may index once more"


@ON_SHARED
async def test_a_request_that_cannot_be_read_is_answered_by_its_id(opened: Start, project: Path) -> None:
    deep = b"[" * 5000 + b"]" * 5000
    async with opened(project) as client:
        for body in (b'{"jsonrpc":"2.0","id":901,"method":"carrel/status","params":{"x":' + deep + b"}}", b'{"id":901,"method":'):
            with pytest.raises(LspError) as caught:
                await raw_answer(client, 901, body)
            assert caught.value.code == -32700


async def test_a_first_message_nested_too_deep_is_no_end(project: Path, env: dict[str, str]) -> None:
    client = await LspClient.spawn(env=env)
    try:
        client.write(b'{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"x":' + b"[" * 5000 + b"]" * 5000 + b"}}")
        assert (await client.initialize(project))["serverInfo"]["name"] == "carrel"
        assert await client.stop() == 0
    finally:
        await client.kill()
