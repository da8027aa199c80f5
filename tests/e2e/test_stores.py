"""A real server keeps a copy of the vectors in the store that the editor's settings name, and tells its state."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.contract import qdrant_server
from tests.e2e.conftest import Start, paths
from tests.waiting import until


async def vectors(client: Any, state: str) -> dict[str, Any]:
    async def in_state() -> dict[str, Any]:
        found: dict[str, Any] = (await client.request("carrel/status", {})).get("vectors") or {}
        return found if found.get("state") == state and (state != "ready" or (found["held"] and not found["backlog"])) else {}

    return await until(in_state)


async def test_unsaved_text_counts_where_vectors_are_in_lancedb(project: Path, start: Start) -> None:
    pytest.importorskip("lancedb")
    async with start(project, store={"kind": "lancedb"}) as client:
        await client.request("carrel/index", {})
        found = await vectors(client, "ready")
        assert found["kind"] == "lancedb"
        assert not found["leavesMachine"]
        uri = (project / "src" / "pool.py").as_uri()
        text = "def reimburse_customer(order):\n    '''Give the money of an order back to the customer.'''\n    return order\n"
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        answer = await client.request("carrel/search", {"query": "money back to the customer", "limit": 1})
        assert paths(answer) == ["src/pool.py"]
        assert (await client.request("carrel/providers", {}))["store"]["kind"] == "lancedb"


async def test_questions_go_on_without_a_server(project: Path, start: Start) -> None:
    pytest.importorskip("qdrant_client")
    store = {"kind": "qdrant", "url": f"http://127.0.0.1:{qdrant_server.free_port()}"}
    async with start(project, store=store) as client:
        await client.request("carrel/index", {})
        found = await vectors(client, "unreachable")
        assert "can't be reached" in found["problem"]
        question = {"query": "configure the pool of the database", "trigger": "chat"}
        answer = await client.request("carrel/context", question, timeout=20)
        assert answer["hits"]


async def test_a_qdrant_that_hangs_is_said_once_with_its_remedy_and_catches_up(project: Path, start: Start) -> None:
    pytest.importorskip("qdrant_client")
    program = os.environ.get("CARREL_QDRANT_BINARY") or pytest.skip(qdrant_server.REASON)
    url, server, _ = qdrant_server.start(program)
    async with start(project, store={"kind": "qdrant", "url": url}) as client:
        await client.request("carrel/index", {})
        held = (await vectors(client, "ready"))["held"]
        server.send_signal(signal.SIGSTOP)
        question = {"query": "configure the pool of the database", "limit": 1}
        answers = [await client.request("carrel/search", question, timeout=10) for _ in range(2)]
        assert [paths(answer) for answer in answers] == [["src/pool.py"]] * 2
        problem = (await vectors(client, "unreachable"))["problem"]
        assert url.removeprefix("http://") in problem
        assert problem.endswith("Restart it, or check its URL.")
        (project / "src" / "more.py").write_text("def refund(order):\n    return order.total * -1  # given back\n")
        await client.request("carrel/index", {})
        server.send_signal(signal.SIGCONT)
        assert (await vectors(client, "ready"))["held"] > held
    told = [told["message"] for method, told in client.notifications if method == "window/logMessage" and told["type"] == 2]
    assert [message for message in told if "index's own vectors" in message] == told
    assert len(told) == 1
