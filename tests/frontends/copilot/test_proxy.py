"""The real proxy process before a server that records what it gets."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.copilot.conftest import LOGIN, STAND_IN, Client, Start, initialize, recorded
from tests.shop import index, write_files

from carrel.frontends.common.transport import frame, read_frame

QUESTION = "how does login work?"


def turn(text: Any) -> dict[str, Any]:
    return {"conversationId": "c", "workDoneToken": "t", "message": text}


def ask_until_augmented(client: Client, record: Path, text: Any = QUESTION) -> Any:
    """Carrel's server takes a while to start; until then turns pass as they are."""
    for number in range(60):
        client.request(f"turn{number}", "conversation/turn", turn(text))
        sent = recorded(record, "conversation/turn")[-1]["params"]["message"]
        if sent != text:
            return sent
        time.sleep(0.2)
    pytest.fail("no turn got context")


def test_context_stands_before_the_question_and_commands_before_the_context(start: Start, project: Path, record: Path) -> None:
    client = start("--deadline-ms", "2000")
    initialize(client, project)
    sent = ask_until_augmented(client, record)
    assert sent.startswith("<rag_context>")
    assert 'file="auth.py"' in sent
    assert sent.endswith(f"</rag_context>\n\n{QUESTION}")
    assert ask_until_augmented(client, record, f"/explain {QUESTION}").startswith("/explain <rag_context>")
    parts = [{"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "text", "text": QUESTION}]
    augmented = ask_until_augmented(client, record, parts)
    assert augmented[0] == parts[0]
    assert augmented[1]["text"].endswith(f"\n\n{QUESTION}")
    turns = [{"request": "earlier", "response": "yes"}, {"request": QUESTION}]
    client.request("create", "conversation/create", {"workDoneToken": "t", "turns": turns, "extra": 1.0})
    params = recorded(record, "conversation/create")[0]["params"]
    assert params["turns"][0] == turns[0]
    assert params["turns"][1]["request"].startswith("<rag_context>")
    assert params["extra"] == 1.0
    code, stderr = client.end()
    assert code == 3
    assert b"stand-in: started" in stderr


def test_all_folders_that_a_turn_names_are_searched(start: Start, project: Path, record: Path, env: dict[str, str]) -> None:
    money = write_files(project.parent / "money", {"rates.py": "def exchange_rate(day):\n    return central_bank_table(day)\n"})
    index(money, env)
    client = start("--deadline-ms", "2000")
    initialize(client, project)
    folders = [{"uri": root.as_uri(), "name": root.name} for root in (project, money)]
    question = "where is the exchange_rate of a day?"
    for number in range(60):
        client.request(f"turn{number}", "conversation/turn", {**turn(question), "workspaceFolders": folders})
        if (sent := recorded(record, "conversation/turn")[-1]["params"]["message"]) != question:
            break
        time.sleep(0.2)
    assert 'file="money/rates.py"' in sent


def test_references_leave_the_text(start: Start, project: Path, record: Path) -> None:
    client = start("--mode", "references", "--deadline-ms", "2000")
    initialize(client, project)
    for _ in range(60):
        client.request("t", "conversation/turn", turn(QUESTION))
        params = recorded(record, "conversation/turn")[-1]["params"]
        if "references" in params:
            break
        time.sleep(0.2)
    assert params["message"] == QUESTION
    assert params["references"][0]["uri"].endswith("auth.py")


def test_the_tool_is_answered_here_and_the_clients_own_there(start: Start, project: Path, record: Path) -> None:
    client = start()
    initialize(client, project)
    params = {"name": "carrel_search", "input": {"query": QUESTION}, "conversationId": "c"}
    client.send({"jsonrpc": "2.0", "method": "test/ask", "params": {"method": "conversation/invokeClientTool", "params": params}})
    other = {**params, "name": "client_tool"}
    client.send({"jsonrpc": "2.0", "method": "test/ask", "params": {"method": "conversation/invokeClientTool", "params": other}})
    assert client.read()["params"]["name"] == "client_tool"
    answer = _answer(record)
    assert answer[0]["status"] == "success"
    assert "auth.py (lines 1-3" in answer[0]["content"][0]["value"]
    (registered,) = recorded(record, "conversation/registerTools")
    assert [tool["name"] for tool in registered["params"]["tools"]] == ["carrel_search", "carrel_knowledge_base"]
    # The answer to the proxy's own request never reaches the client.
    assert client.request(5, "ping", {})["id"] == 5


def test_the_knowledge_base_holds_documents_only(start: Start, project: Path, record: Path, env: dict[str, str]) -> None:
    (project / "LOGIN.md").write_text("# Login\n\nHow login works: passwords are verified by the account itself.\n", "utf-8")
    index(project, env)
    client = start()
    initialize(client, project)
    params = {"name": "carrel_knowledge_base", "input": {"query": QUESTION}, "conversationId": "c"}
    client.send({"jsonrpc": "2.0", "method": "test/ask", "params": {"method": "conversation/invokeClientTool", "params": params}})
    text = _answer(record)[0]["content"][0]["value"]
    assert text.startswith("File: LOGIN.md:1-3\nContent:\n# Login")
    assert "auth.py" not in text


def test_the_agents_search_gives_three_places(start: Start, project: Path, record: Path, env: dict[str, str]) -> None:
    write_files(project, {f"auth_{n}.py": LOGIN.replace("authenticate_user", f"authenticate_user_{n}") for n in range(5)})
    index(project, env)
    client = start()
    initialize(client, project)
    params = {"name": "carrel_search", "input": {"query": "authenticate user"}, "conversationId": "c"}
    client.send({"jsonrpc": "2.0", "method": "test/ask", "params": {"method": "conversation/invokeClientTool", "params": params}})
    assert _answer(record)[0]["content"][0]["value"].count("(lines 1-3") == 3


def _answer(record: Path) -> Any:
    for _ in range(200):
        found = [m for m in _messages(record) if m.get("id") == 77 and "result" in m]
        if found:
            return found[0]["result"]
        time.sleep(0.1)
    pytest.fail("the tool wasn't answered")


def _messages(record: Path) -> list[Any]:
    return [json.loads(part.partition(b"\r\n\r\n")[2]) for part in record.read_bytes().split(b"Content-Length:")[1:]]


def mixed(source: random.Random, count: int) -> list[bytes]:
    """Messages of many sizes; some only look like turns."""
    methods = ["a/b", "conversation/x", "textDocument/hover"]
    bodies = [
        json.dumps({"id": i, "method": source.choice(methods), "params": "é" * n}).encode()
        for i, n in enumerate(source.choices([0, 10, 200, 3_000], [3, 4, 2, 1], k=count))
    ]
    bodies[1::100] = [b'{"method": "conversation/turn", "id": broken}'] * len(bodies[1::100])
    bodies[2::100] = [b'{"method":"a/b","params":{"method":"conversation/turn"},"id":1}'] * len(bodies[2::100])
    bodies[3::100] = [json.dumps({"method": "conversation/turn", "params": turn(QUESTION)}).encode()] * len(bodies[3::100])
    bodies[count // 2] = b"x" * 3_000_000
    return bodies


def through(client: Client, source: random.Random, sent: bytes) -> bytes:
    """Send everything in random pieces; gives all that comes back."""

    def write_all() -> None:
        at = 0
        while at < len(sent):
            at += os.write(client.into.fileno(), sent[at : at + source.choice([1, 7, 100, 5_000, 70_000])])
        client.into.close()

    threading.Thread(target=write_all).start()
    return b"".join(iter(lambda: client.out.read(1 << 20), b""))


def test_ten_thousand_frames_in_random_pieces_pass_bit_for_bit(start: Start, record: Path) -> None:
    source = random.Random(6)  # noqa: S311
    sent = b"".join(frame(body) for body in mixed(source, 10_000))
    client = start("--mode", "off", command=[sys.executable, str(STAND_IN), str(record), "echo"])
    got = through(client, source, sent)
    assert got == sent
    assert record.read_bytes() == sent
    assert client.process.wait(10) == 3


TEXTS: list[Any] = [
    QUESTION,
    f"/explain {QUESTION}",
    f"{QUESTION} \ud83d \u00e9 \u2028 \U0001f511",
    [{"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "text", "text": QUESTION}],
]


def test_of_ten_thousand_frames_only_the_turns_change_and_only_by_their_context(
    start: Start, project: Path, record: Path
) -> None:
    source = random.Random(7)  # noqa: S311
    echo = [sys.executable, str(STAND_IN), str(record), "echo"]
    client = start("--no-tool", "--deadline-ms", "20000", command=echo)
    for message in (
        {"id": 0, "method": "initialize", "params": {"capabilities": {}, "rootUri": project.as_uri()}},
        {"id": 1, "method": "conversation/turn", "params": turn(QUESTION)},  # waits until Carrel's server has started
    ):
        client.send(message)
        client.read()
    before = record.stat().st_size
    bodies = mixed(source, 10_000)
    turns: dict[int, Any] = {}
    for number in range(100):
        at = 100 * number + 50 if number != 50 else 5_051
        text = TEXTS[number % len(TEXTS)]
        asked = {"turns": [{"request": "earlier", "response": "yes"}, {"request": text}], "big": 2**70, "x": 1.5}
        method, params = ("conversation/turn", turn(text)) if number % 3 else ("conversation/create", asked)
        turns[at] = {"jsonrpc": "2.0", "params": params, "id": str(at), "method": method}
        body = json.dumps(turns[at], indent=source.choice([None, 1])).encode()
        bodies[at] = body.replace(b"conversation/", b"conversation\\/") if number % 5 == 0 else body
    got = through(client, source, b"".join(frame(body) for body in bodies))
    assert record.read_bytes()[before:] == got
    received = frames_of(got)
    assert len(received) == len(bodies)
    for at, (body, expected) in enumerate(zip(received, bodies, strict=True)):
        if at in turns:
            assert body != expected, at
            assert without_context(json.loads(body)) == turns[at]
        else:
            assert body == expected, at
    assert client.process.wait(10) == 3


def frames_of(data: bytes) -> list[bytes]:
    stream = io.BytesIO(data)
    return list(iter(lambda: read_frame(stream), None))


def without_context(message: Any) -> Any:
    """The turn with the one context that must be in it taken out again."""
    holder, key = message["params"], "message"
    if "turns" in holder:
        holder, key = holder["turns"][-1], "request"
    if isinstance(holder[key], list):
        holder, key = holder[key][-1], "text"
    command, opened, rest = holder[key].partition("<rag_context>\n")
    context, closed, text = rest.partition("\n</rag_context>\n\n")
    assert opened
    assert closed
    assert 'file="auth.py"' in context
    holder[key] = command + text
    return message


@pytest.mark.parametrize("off", ["--mode", "settings"])
def test_switched_off_nothing_changes(start: Start, project: Path, record: Path, env: dict[str, str], off: str) -> None:
    if off == "settings":
        folder = Path(env["XDG_CONFIG_HOME"]) / "carrel"
        folder.mkdir(parents=True)
        (folder / "settings.toml").write_text("ragEnabled = false\n", "utf-8")
    client = start(*(["--mode", "off"] if off == "--mode" else []))
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"rootUri": project.as_uri(), "capabilities": {}}},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "conversation/turn", "params": turn(QUESTION)},
    ]
    for message in messages:
        client.send(message)
    assert [client.read()["id"] for _ in range(2)] == [1, 2]
    client.end()
    assert record.read_bytes() == b"".join(frame(json.dumps(message).encode()) for message in messages)


def test_the_settings_file_counts_from_the_next_turn_on(start: Start, project: Path, record: Path, env: dict[str, str]) -> None:
    folder = Path(env["XDG_CONFIG_HOME"]) / "carrel"
    folder.mkdir(parents=True)
    settings = folder / "settings.toml"
    settings.write_text("ragEnabled = false\n", "utf-8")
    client = start("--deadline-ms", "2000")
    initialize(client, project)
    client.request("off", "conversation/turn", turn(QUESTION))
    assert recorded(record, "conversation/turn")[-1]["params"]["message"] == QUESTION
    assert carrels_servers(client) == []
    settings.write_text("ragEnabled = true \n", "utf-8")
    ask_until_augmented(client, record)
    settings.write_text("ragEnabled = false\n\n", "utf-8")
    client.request("again", "conversation/turn", turn(QUESTION))
    assert recorded(record, "conversation/turn")[-1]["params"]["message"] == QUESTION


def test_exit_codes_and_signals_are_the_servers(start: Start) -> None:
    client = start()
    client.send({"jsonrpc": "2.0", "method": "test/exit", "params": 42})
    assert client.process.wait(10) == 42
    client = start()
    client.send({"jsonrpc": "2.0", "method": "test/kill"})
    assert client.process.wait(10) == -signal.SIGKILL
    assert start(command=["no-such-program-anywhere"]).process.wait(10) == 127


def test_the_server_ends_when_the_proxy_is_killed(start: Start, record: Path, project: Path) -> None:
    client = start()
    initialize(client, project)
    children = _children(client.process.pid)
    assert len(children) >= 2
    client.process.kill()
    for _ in range(100):
        if not any(Path(f"/proc/{child}").exists() for child in children):
            return
        time.sleep(0.1)
    pytest.fail("a process was left behind")


def _children(pid: int) -> list[int]:
    psutil = pytest.importorskip("psutil")
    for _ in range(50):
        found = [child.pid for child in psutil.Process(pid).children()]
        if len(found) >= 2:
            break
        time.sleep(0.1)
    return found


def carrels_servers(client: Client) -> list[Any]:
    psutil = pytest.importorskip("psutil")
    return [child for child in psutil.Process(client.process.pid).children() if "carrel.frontends.lsp.serve" in child.cmdline()]


def test_chat_goes_on_when_the_index_breaks_and_when_carrels_server_is_killed(
    start: Start, project: Path, record: Path, env: dict[str, str]
) -> None:
    client = start("--deadline-ms", "2000")
    initialize(client, project)
    ask_until_augmented(client, record)
    shutil.rmtree(Path(env["XDG_CACHE_HOME"]) / "carrel")
    assert client.request("broken", "conversation/turn", turn(QUESTION))["result"] == {"method": "conversation/turn"}
    for server in carrels_servers(client):
        server.kill()
    assert client.request("dead", "conversation/turn", turn(QUESTION))["result"] == {"method": "conversation/turn"}
    assert recorded(record, "conversation/turn")[-1]["params"]["message"] == QUESTION


def test_a_late_answer_doesnt_hold_the_turn(start: Start, project: Path, record: Path) -> None:
    client = start("--deadline-ms", "1000")
    initialize(client, project)
    ask_until_augmented(client, record)
    (server,) = carrels_servers(client)
    server.suspend()
    late = threading.Timer(20, server.resume)  # a turn that waited for the answer would get it then
    late.start()
    try:
        client.request("late", "conversation/turn", turn(QUESTION))
        assert recorded(record, "conversation/turn")[-1]["params"]["message"] == QUESTION
    finally:
        late.cancel()
        server.resume()
