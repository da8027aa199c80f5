"""`carrel/chat` with the real server; the client plays the chat model."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspClient, LspError
from tests.services.standin import Reply, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

LENDS = {"experimental": {"carrel": {"complete": True}}}
CAPABILITIES = LENDS
QUESTION = {"messages": [{"role": "user", "content": "Where is a login checked?"}]}
QUESTION_BLOCK = re.compile(r"<question>\n(.*)\n</question>\Z", re.DOTALL)
ANSWER = "`authenticate_user` checks it (src/auth.py:1-4)."


def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
    return {"text": "", "toolCalls": [{"id": "c1", "name": tool, "arguments": arguments}]}


class PlayedModel:
    """Says its lines one after the other, the last one for ever. A question that it is to say in other words it repeats."""

    def __init__(self, client: LspClient, *lines: Any) -> None:
        self.lines = list(lines)
        self.requests: list[dict[str, Any]] = []
        client.answers["carrel/complete"] = self.complete

    def complete(self, params: dict[str, Any]) -> Any:
        if question := QUESTION_BLOCK.search(params["messages"][-1]["text"]):
            return {"text": question[1]}
        self.requests.append(params)
        line = self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]
        return {"text": line} if isinstance(line, str) else line

    @property
    def last(self) -> str:
        text: str = self.requests[-1]["messages"][-1]["text"]
        return text


def steps(client: LspClient, token: str) -> list[dict[str, Any]]:
    return [p["value"] for method, p in client.notifications if method == "$/progress" and p["token"] == token]


async def test_a_question_is_answered_from_context_and_tools_with_checked_citations(start: Start, project: Path) -> None:
    async with start(project, capabilities=LENDS, ragEnabled=False) as client:
        model = PlayedModel(
            client, call("read_lines", path="src/orders.py", start_line=5), f"{ANSWER} Prices: src/orders.py:5-6."
        )
        asked = {**QUESTION, "modelToken": "m1", "partialResultToken": "p1", "budget": {"tokens": 200}, "topK": 1}
        result = await client.request("carrel/chat", asked)
        assert result["text"] == f"{ANSWER} Prices: src/orders.py:5-6."
        assert [(c["path"], c["startLine"], c["endLine"], c["ok"]) for c in result["citations"]] == [
            ("src/auth.py", 1, 4, True),
            ("src/orders.py", 5, 6, True),
        ]
        assert result["citations"][0]["uri"].endswith("/src/auth.py")
        assert "def authenticate_user" in result["pack"]["text"]
        assert (result["usage"]["requests"], result["usage"]["calls"], result["cut"]) == (2, 1, False)
        assert "problem" not in result
        told = steps(client, "p1")
        assert [step["kind"] for step in told if step["kind"] != "text"] == ["asked", "toolStarted", "toolFinished", "asked"]
        assert "".join(step["text"] for step in told if step["kind"] == "text") == result["text"]
        assert [step["kind"] for step in result["steps"]] == ["asked", "toolStarted", "toolFinished", "asked"]
        assert result["steps"][2]["places"][0]["path"] == "src/orders.py"
        first = model.requests[0]
        assert first["modelToken"] == "m1"
        names = {"search_code", "search_knowledge_base", "read_lines", "find_definition", "find_uses"}
        assert {tool["name"] for tool in first["tools"]} == names
        assert first["messages"][-1]["text"].endswith("</rag_context>\n\nWhere is a login checked?")


async def test_every_tool_answers(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        model = PlayedModel(
            client,
            call("search_code", query="price of an order"),
            call("find_definition", name="Order.total_price"),
            call("find_uses", name="total_price"),
            ANSWER,
        )
        result = await client.request("carrel/chat", QUESTION)
        given = [message["text"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]
        assert given[0].startswith("--- src/orders.py (lines ")
        assert "def total_price" in given[1]
        assert given[2].splitlines()[1] == "src/orders.py:5: def total_price(self):"
        assert [step["tool"] for step in result["steps"] if step["kind"] == "toolFinished"] == [
            "search_code",
            "find_definition",
            "find_uses",
        ]


async def test_what_does_not_hold_is_asked_for_again_then_marked(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        model = PlayedModel(client, "It is in src/gone.py:3.")
        result = await client.request("carrel/chat", {**QUESTION, "partialResultToken": 7})
        assert result["text"] == "It is in src/gone.py:3 [unverified]."
        assert [(c["ok"], c["reason"]) for c in result["citations"]] == [(False, "the file was not given")]
        assert "src/gone.py:3-3" in result["problem"]
        assert len(model.requests) == 2
        assert "askedAgain" in [step["kind"] for step in steps(client, 7)]  # type: ignore[arg-type]


async def test_nothing_ignored_secret_or_left_out_is_shown(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        client.open(project / "src/pool.py", "def unsaved_pool():\n    return 'typed a moment ago'\n")
        names = ("search_code", "find_definition", "find_uses")
        calls = [
            *(call("read_lines", path=path) for path in (".env", "generated/out.py", "src/auth.py", "../x", "src/pool.py")),
            *(call(name, **{"query" if name == "search_code" else "name": "authenticate_user"}) for name in names),
        ]
        model = PlayedModel(client, *calls, "I could not find it.")
        result = await client.request("carrel/chat", {**QUESTION, "exclude": ["src/auth.py"]})
        said = json.dumps([request["messages"][1:] for request in model.requests])
        assert "hunter2" not in said
        assert "generated_wombat" not in said
        assert "row.verify" not in said
        assert "typed a moment ago" in said
        assert {c["path"] for c in result["pack"]["hits"]} & {"src/auth.py"} == set()


async def test_the_conversation_is_told_and_gives_way_to_the_question(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        model = PlayedModel(client, ANSWER)
        history = [{"role": role, "content": f"{role} {n} " * 300} for n in range(20) for role in ("user", "assistant")]
        messages = [*history, {"role": "user", "content": "And where is it checked?"}]
        result = await client.request("carrel/chat", {"messages": messages, "maxTokens": 8_000})
        sent = model.requests[0]["messages"]
        assert sent[0]["role"] == "system"
        assert sent[-1]["text"].endswith("And where is it checked?")
        assert 1 < len(sent) - 2 < 40
        assert sent[1]["role"] == "user"
        assert sent[-2]["text"] == history[-1]["content"]
        assert result["usage"]["largestRequest"] < 6_800


async def test_a_cancel_ends_it_and_the_server_goes_on(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        asked = asyncio.Event()

        async def think_for_ever(_: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

        client.answers["carrel/complete"] = think_for_ever
        identity, chat = client.send("carrel/chat", QUESTION)
        await asyncio.wait_for(asked.wait(), 20)
        client.cancel(identity)
        with pytest.raises(LspError) as caught:
            await asyncio.wait_for(chat, 5)
        assert caught.value.code == -32800
        PlayedModel(client, ANSWER)
        assert (await client.request("carrel/chat", QUESTION))["text"] == ANSWER


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages.role"),
        ({**QUESTION, "maxTokens": 100}, "maxTokens"),
        ({**QUESTION, "exclude": ["["]}, "exclude"),
        ({"messages": [{"role": "user", "content": "why? " * 20_000}]}, "messages"),
    ],
)
async def test_what_can_not_be_answered_is_named(opened: Start, project: Path, params: dict[str, Any], field: str) -> None:
    async with opened(project) as client:
        model = PlayedModel(client, ANSWER)
        with pytest.raises(LspError) as caught:
            await client.request("carrel/chat", params)
        assert caught.value.code == -32602
        assert caught.value.data["field"].startswith(field.split(".", maxsplit=1)[0])
        assert model.requests == []


async def test_without_any_model_the_remedies_are_named(start: Start, project: Path) -> None:
    async with start(project) as client:
        with pytest.raises(LspError, match="No chat model is set") as caught:
            await client.request("carrel/chat", QUESTION)
        assert (caught.value.code, caught.value.data["kind"]) == (-32803, "ProviderError")
        assert "need no model" in caught.value.message
        assert "carrel/" not in caught.value.message, "it is shown to a person, who sends no requests"
        assert "`carrel models set chat" in caught.value.message


async def test_a_model_that_is_set_answers_unless_one_is_lent(start: Start, project: Path) -> None:
    with running(Reply("Said by the service.")) as service:
        chat = {"provider": "openai", "baseUrl": f"{service.url}/v1", "model": "tiny", "key": "none"}
        async with start(project, capabilities=LENDS, models={"chat": chat}) as client:
            model = PlayedModel(client, "Said by the client.")
            lent = await client.request("carrel/chat", {**QUESTION, "modelToken": "m"})
            assert (lent["text"], service.requests) == ("Said by the client.", [])
            asked = len(model.requests)
            result = await client.request("carrel/chat", QUESTION)
            assert (result["text"], len(model.requests)) == ("Said by the service.", asked)
