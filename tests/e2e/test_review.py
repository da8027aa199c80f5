"""`carrel/review` with the real server; the client plays the chat model."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspClient, LspError
from tests.shop import write_many

from carrel.frontends.common.uris import path_to_uri

pytestmark = pytest.mark.asyncio(loop_scope="module")

LENDS = {"window": {"workDoneProgress": True}, "experimental": {"carrel": {"complete": True}}}
CAPABILITIES = LENDS
ISSUE = {"title": "Logins of users with umlauts fail", "body": "Since yesterday `müller` can't log in."}
ANSWER = {
    "summary": "Compare names in one form when a login is checked.",
    "difficulty_score": "2",
    "recommended_level": "junior",
    "concepts_required": ["Unicode"],
    "mentoring_advice": "Begin at src/auth.py:1-4.",
    "chunks_used": 77,
}


def call(number: int, **arguments: Any) -> dict[str, Any]:
    return {"id": f"c{number}", "name": "search_code", "arguments": arguments}


class PlayedModel:
    """Searches with each question in turn, then answers."""

    def __init__(self, client: LspClient, *questions: str, answer: str = json.dumps(ANSWER)) -> None:
        self.questions = list(questions)
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        client.answers["carrel/complete"] = self.complete

    def complete(self, params: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(params)
        if not self.questions or "No more searches" in params["messages"][-1]["text"]:
            return {"text": f"Here it is:\n```json\n{self.answer}\n```"}
        return {"text": "", "toolCalls": [call(len(self.questions), query=self.questions.pop(0))]}


def steps(client: LspClient, token: str) -> list[dict[str, Any]]:
    return [p["value"] for method, p in client.notifications if method == "$/progress" and p["token"] == token]


async def test_an_issue_is_reviewed_with_the_clients_model(start: Start, project: Path) -> None:
    async with start(project, capabilities=LENDS, ragEnabled=False) as client:
        model = PlayedModel(client, "where is a login checked", "price of an order")
        asked = {**ISSUE, "modelToken": "m1", "partialResultToken": "p1", "model": "gpt-4o", "maxTokens": 20_000}
        result = await client.request("carrel/review", asked)
        assert result["review"] == {
            "summary": ANSWER["summary"],
            "difficultyScore": 2,
            "recommendedLevel": "Junior",
            "conceptsRequired": ["Unicode"],
            "mentoringAdvice": ANSWER["mentoring_advice"],
            "chunksUsed": len(result["places"]),
        }
        assert (result["searches"], result["state"], result["tokenizer"]) == (2, "ready", "o200k_base")
        assert not {"problem", "rawText"} & set(result)
        login = next(place for place in result["places"] if place["path"] == "src/auth.py")
        assert login["uri"] == path_to_uri(str(project / "src/auth.py"))
        assert (login["startLine"], login["endLine"], login["symbol"]) == (1, 4, "authenticate_user")
        assert len({(p["path"], p["startLine"]) for p in result["places"]}) == len(result["places"])

        told = steps(client, "p1")
        assert [step["kind"] for step in told] == ["searchStarted", "searchFinished"] * 2 + ["text"]
        assert told[0] == {"kind": "searchStarted", "query": "where is a login checked"}
        assert login in told[1]["places"]
        assert told[-1]["answer"] is True

        assert {request["modelToken"] for request in model.requests} == {"m1"}
        assert [tool["name"] for tool in model.requests[0]["tools"]] == ["search_code"]
        assert [m["role"] for m in model.requests[1]["messages"]] == ["system", "user", "assistant", "tool"]
        assert "müller" in model.requests[0]["messages"][1]["text"]
        given = model.requests[1]["messages"][3]
        assert given["toolCallId"] == model.requests[1]["messages"][2]["toolCalls"][0]["id"]
        assert re.search(
            r"^--- src/auth\.py \(lines 1-4, relevance: [01]\.\d\d\) ---\ndef authenticate_user", given["text"], re.MULTILINE
        )


async def test_it_is_a_command_too_and_needs_no_tokens(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        model = PlayedModel(client)
        result = await client.request("workspace/executeCommand", {"command": "carrel.review", "arguments": [ISSUE]})
        assert (result["review"]["chunksUsed"], result["searches"]) == (0, 0)
        assert "modelToken" not in model.requests[0]


async def test_what_is_ignored_secret_excluded_or_unsaved_counts_as_for_any_search(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        client.open(project / "src/orders.py", "def unsaved_discount(order):\n    return order.total * 0.9\n")
        model = PlayedModel(client, "generated_wombat DATABASE_PASSWORD hunter2hunter2", "unsaved discount of an order")
        result = await client.request("carrel/review", {**ISSUE, "exclude": ["src/auth.py"]})
        assert {place["path"] for place in result["places"]} <= {".gitignore", "README.md", "src/orders.py", "src/pool.py"}
        said = json.dumps([request["messages"][2:] for request in model.requests])
        assert "hunter2hunter2\\n" not in said
        assert "DATABASE_PASSWORD=" not in said
        assert "def unsaved_discount" in said


async def test_many_files_and_a_small_window(opened: Start, tmp_path: Path) -> None:
    write_many(tmp_path / "big", 80, 200)
    async with opened(tmp_path / "big") as client:
        model = PlayedModel(client, *(f"function_{n}_3 and what it returns" for n in range(40)))
        result = await client.request("carrel/review", {**ISSUE, "maxTokens": 6_000, "waitMs": 60_000})
        assert result["review"]["chunksUsed"] >= 8
        assert len({place["path"] for place in result["places"]}) >= 8
        assert result["searches"] <= 12
        assert result["largestRequest"] <= 5_100
        # Four characters a token is what code has about; no request comes near to the window by that count either.
        assert max(len(json.dumps(request)) for request in model.requests) / 4 < 6_000


@pytest.mark.parametrize(
    ("answer", "problem"),
    [("{}", "summary is missing"), (json.dumps({**ANSWER, "recommended_level": "Guru"}), "recommended_level must be Junior")],
)
async def test_an_answer_that_stays_wrong_comes_with_its_text(opened: Start, project: Path, answer: str, problem: str) -> None:
    async with opened(project) as client:
        model = PlayedModel(client, "login", answer=answer)
        result = await client.request("carrel/review", {**ISSUE, "partialResultToken": "p"})
        assert "review" not in result
        assert result["problem"].startswith(problem)
        assert answer in result["rawText"]
        assert len(model.requests) == 3
        assert [s["problem"] for s in steps(client, "p") if s["kind"] == "askedAgain"] == [result["problem"]]


async def test_a_cancel_reaches_the_model_and_the_server_goes_on(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def think_for_ever(_: Any) -> Any:
            asked.set()
            await cancelled.wait()
            return {"text": json.dumps(ANSWER)}  # too late

        client.on_notification = lambda method, _: cancelled.set() if method == "$/cancelRequest" else None
        client.answers["carrel/complete"] = think_for_ever
        identity, review = client.send("carrel/review", ISSUE)
        await asyncio.wait_for(asked.wait(), 20)
        client.cancel(identity)
        with pytest.raises(LspError) as caught:
            await asyncio.wait_for(review, 5)
        assert caught.value.code == -32800
        await asyncio.wait_for(cancelled.wait(), 5)
        PlayedModel(client, "login")
        assert (await client.request("carrel/review", ISSUE))["review"]["chunksUsed"] > 0


async def test_a_cancel_during_a_search_is_heard(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        client.answers["carrel/complete"] = lambda _: {"toolCalls": [call(n, query=f"login {n} " * 900) for n in range(4)]}
        identity, review = client.send("carrel/review", {**ISSUE, "partialResultToken": "p"})
        await client.wait_for("$/progress", lambda params: params["value"].get("kind") == "searchStarted")
        client.cancel(identity)
        with pytest.raises(LspError) as caught:
            await asyncio.wait_for(review, 5)
        assert caught.value.code == -32800
        assert (await client.request("carrel/status", {}))["state"] == "ready"


@pytest.mark.parametrize(
    ("code", "expected"), [(-32000, (-32803, "The chat model failed: no quota left")), (-32800, (-32800, ""))]
)
async def test_a_model_that_fails_or_is_taken_back_ends_the_review(
    opened: Start, project: Path, code: int, expected: tuple[int, str]
) -> None:
    def fail(_: Any) -> Any:
        raise LspError(code, "no quota left")

    async with opened(project) as client:
        client.answers["carrel/complete"] = fail
        with pytest.raises(LspError) as caught:
            await client.request("carrel/review", ISSUE)
        assert caught.value.code == expected[0]
        assert caught.value.message.startswith(expected[1])


async def test_two_reviews_at_once_keep_their_models_apart(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        both = asyncio.Barrier(2)

        async def complete(params: dict[str, Any]) -> Any:
            await both.wait()
            return {"text": json.dumps({**ANSWER, "summary": f"Said by {params['modelToken']}."})}

        client.answers["carrel/complete"] = complete
        results = await asyncio.gather(*(client.request("carrel/review", {**ISSUE, "modelToken": name}) for name in ("a1", "b2")))
        assert [result["review"]["summary"] for result in results] == ["Said by a1.", "Said by b2."]


@pytest.mark.parametrize("experimental", [None, {}, {"carrel": True}, {"carrel": {"complete": False}}, "carrel"])
async def test_a_client_without_a_model_is_told_what_is_missing(start: Start, project: Path, experimental: Any) -> None:
    async with start(project, capabilities={"experimental": experimental}) as client:
        with pytest.raises(LspError, match="No chat model is set") as caught:
            await client.request("carrel/review", ISSUE)
        assert (caught.value.code, caught.value.data["kind"]) == (-32803, "ProviderError")
        assert "carrel models set chat" in caught.value.message
        assert caught.value.message.endswith("Searching, and context for another chat, need no model.")


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "title"),
        ({"title": "  "}, "title"),
        ({"title": "x", "maxTokens": 100}, "maxTokens"),
        ({"title": "x", "body": 7}, "body"),
        ({"title": "x", "workspaceFolder": "/nowhere"}, "workspaceFolder"),
        ({"title": "x", "exclude": ["["]}, "exclude"),
    ],
)
async def test_what_can_not_be_reviewed_is_named(opened: Start, project: Path, params: dict[str, Any], field: str) -> None:
    async with opened(project) as client:
        model = PlayedModel(client)
        with pytest.raises(LspError, match=f"^{field}: ") as caught:
            await client.request("carrel/review", params)
        assert caught.value.code == -32602
        assert model.requests == []


@pytest.mark.parametrize("answer", [None, [], {"text": 7}, {"toolCalls": [{"id": 1}]}, "text"])
async def test_a_model_that_speaks_another_language_is_reported(opened: Start, project: Path, answer: Any) -> None:
    async with opened(project) as client:
        client.answers["carrel/complete"] = lambda _: answer
        result = client.request("carrel/review", ISSUE)
        if answer is None:  # nothing at all is an empty answer
            assert (await result)["problem"]
            return
        with pytest.raises(LspError, match="carrel/complete can't be read") as caught:
            await result
        assert caught.value.code == -32803


DEEP = b'{"text":' + b"[" * 5_000 + b"]" * 5_000 + b"}"


@pytest.mark.parametrize(
    "reply",
    [
        b'{"jsonrpc":"2.0","id":"ID","result":' + DEEP + b"}",
        b'{"jsonrpc":"2.0","result":{"toolCalls":[{"id":"1","arguments":' + DEEP + b'}]},"id":"ID"}',
        b'{"jsonrpc":"2.0","id":"ID","result":{"text":' + b"[" * 700 + b"]" * 700 + b"}}",
        b'{"jsonrpc":"2.0","id":"ID","result":{',
        b'{"jsonrpc":"2.0","id":"ID","error":"no quota left"}',
        b'{"id":"ID","result":{"text":"without a version"}}',
    ],
)
async def test_a_reply_that_cannot_be_read_ends_the_review_at_once(opened: Start, project: Path, reply: bytes) -> None:
    async with opened(project) as client:
        taken = client.write

        def in_place_of_the_answer(message: Any) -> None:
            ours = isinstance(message, dict) and "result" in message and message["result"] == "played"
            taken(reply.replace(b"ID", message["id"].encode()) if ours else message)

        client.write = in_place_of_the_answer  # type: ignore[method-assign]
        client.answers["carrel/complete"] = lambda _: "played"
        with pytest.raises(LspError, match="can't be read") as caught:
            await client.request("carrel/review", ISSUE, timeout=20)
        assert caught.value.code == -32803
        assert (await client.request("carrel/status", {}))["state"] == "ready"
