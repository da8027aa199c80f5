"""Each front end lets the chat go on when the way to context is broken inside."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.lsp_client import LspClient
from tests.shop import SHOP, write_files

import carrel
from carrel.composition.composition import Composition
from carrel.frontends import cli
from carrel.frontends.chat_proxy.app import ChatProxy
from carrel.frontends.chat_proxy.context_injector import ContextInjector, InjectionOptions
from carrel.frontends.chat_proxy.upstream import Upstream
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.transport import frame
from carrel.frontends.common.uris import longest_match, path_to_uri
from carrel.frontends.copilot.frames import Frame
from carrel.frontends.copilot.interceptor import Interceptor, ProxyOptions
from carrel.frontends.copilot.sidecar import Sidecar
from carrel.frontends.mcp.folders import Folders
from carrel.frontends.mcp.index_readiness import IndexReadiness
from carrel.frontends.mcp.tools import Tools
from carrel.model.errors import CarrelError
from carrel.search import merge
from carrel.service.session import Session

INTERNAL = "Something went wrong inside Carrel; its log says more."
QUESTION = "how is the total price of an order made?"
BROKEN_SERVER = """
import carrel.search.merge as merge
class Panic(BaseException): pass
def broken(*_, **__): raise Panic("as the core does")
merge.find = broken
from carrel.frontends.lsp.serve import main
main()
"""


class Panic(BaseException):
    """What a panic of the compiled core is."""


def broken(*_: Any, **__: Any) -> Any:
    raise Panic("as the core does")


@pytest.fixture
def project(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed folder, in an environment of its own for this process too."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    root = write_files(tmp_path / "shop", SHOP)
    with carrel.Index(root) as index:
        index.index()
    return root


async def test_the_language_server_answers_an_empty_pack(project: Path, env: dict[str, str]) -> None:
    command = (sys.executable, "-c", BROKEN_SERVER)
    async with LspClient.started(project, options={"ragEnabled": True}, command=command, env=env) as client:
        for method, params in (("carrel/context", {"query": QUESTION}), ("carrel/augment", {"text": QUESTION})):
            result = await client.request(method, params)
            pack = result.get("pack", result)
            assert (pack["text"], pack["error"]) == ("", INTERNAL)
        assert result["text"] == QUESTION


async def test_the_mcp_tool_fails_by_name_and_its_server_goes_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, waiting = Session(Composition(), longest_match), IndexReadiness()
    session.configure({})
    tools = Tools(Folders(session, (project,), fallback=project), waiting)

    async def report(*_: Any) -> None:
        pass

    monkeypatch.setattr(merge, "find", broken)
    with pytest.raises(CarrelError, match="its log says more"):
        await tools.call("get_context", {"query": QUESTION}, report)
    monkeypatch.undo()
    answer = await tools.call("get_context", {"query": QUESTION}, report)
    assert "total_price" in answer.text
    await session.close()


class Upstreams:
    """Keeps what the proxy passed on."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        return httpx.Response(200, stream=httpx.ByteStream(b"{}"))


class Breaking:
    """Stands for pages that raise."""

    def __init__(self, fault: BaseException) -> None:
        self._fault = fault

    async def rewrite(self, *_: Any) -> Any:
        raise self._fault


async def through_proxy(pages: Any, question: str = QUESTION) -> tuple[int, str | None, Any]:
    """Ask a question through the chat proxy: the status, what it did, and what the upstream got."""
    upstream = Upstreams()
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": question}]}
    async with httpx.AsyncClient(transport=httpx.MockTransport(upstream)) as onward:
        app: Any = ChatProxy(Upstream("http://127.0.0.1:9"), pages, onward)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:1") as client:
            response = await client.post("/v1/chat/completions", json=body)
    assert upstream.bodies[0]["messages"][-1]["content"].endswith(question)
    return response.status_code, response.headers.get("x-carrel-context"), upstream.bodies[0] == body


@pytest.mark.parametrize("fault", [RuntimeError(), Panic(), asyncio.CancelledError()], ids=lambda fault: type(fault).__name__)
async def test_the_chat_proxy_passes_a_question_on_as_it_came_whatever_its_rewriting_raises(fault: BaseException) -> None:
    assert await through_proxy(Breaking(fault)) == (200, "failed", True)


async def test_the_chat_proxy_passes_a_question_on_as_it_came(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = ContextInjector(InjectionOptions((project,), deadline_ms=20_000), ContextSwitch())
    await pages.warm_up()
    assert (await through_proxy(pages))[1:] == ("1 place", False)
    monkeypatch.setattr(merge, "find", broken)
    assert await through_proxy(pages, f"And {QUESTION}") == (200, "failed", True)
    await pages.close()


def test_the_copilot_proxy_leaves_a_turn_as_it_was(project: Path) -> None:
    sidecar = Sidecar({"ragEnabled": True}, (sys.executable, "-c", BROKEN_SERVER))
    assistant = Interceptor(ProxyOptions(deadline_ms=20_000, folders=(project,)), ContextSwitch(), sidecar)
    sidecar.start((path_to_uri(str(project)),))
    sidecar_output = sidecar._process and sidecar._process.stdout
    turn = {"jsonrpc": "2.0", "id": 1, "method": "conversation/turn", "params": {"message": QUESTION}}
    assert assistant.rewrite(framed(turn)) is None
    assert sidecar.ask("carrel/context", {"query": QUESTION}, 20)["error"] == INTERNAL  # it was asked, and lives
    sidecar.close()
    assert sidecar_output
    sidecar_output.close()


def framed(message: Any) -> Frame:
    data = bytearray(frame(json.dumps(message).encode()))
    return Frame(data, data.index(b"\r\n\r\n") + 4)


def test_the_command_line_says_what_went_wrong(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(merge, "find", broken)
    assert cli.main(["context", QUESTION, "--path", str(project)]) == 1
    assert INTERNAL in capsys.readouterr().err


def test_the_library_gives_an_empty_pack(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "find", broken)
    with carrel.Index(project) as index:
        pack = index.context(QUESTION)
        assert (pack.text, pack.items, pack.problem) == ("", (), INTERNAL)
        index.close()
        assert "closed" in str(index.context(QUESTION).problem)
