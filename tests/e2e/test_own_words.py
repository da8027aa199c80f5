"""A question in words that the code doesn't use, with the real server and a client that lends its chat model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspClient, LspError

pytestmark = pytest.mark.asyncio(loop_scope="module")

CAPABILITIES = {"experimental": {"carrel": {"complete": True}}}
VAGUE = "who is let through the door?"
SAID = "authenticate_user: how a login is checked"
ASKED = {"query": VAGUE, "trigger": "explicit"}
LENT = {**ASKED, "modelToken": "m1"}


class Lent:
    """Answers `carrel/complete` by `answer`; keeps what it was asked."""

    def __init__(self, client: LspClient, answer: Any) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answer = answer
        client.answers["carrel/complete"] = self.complete

    async def complete(self, params: dict[str, Any]) -> Any:
        self.asked.append(params)
        return await self._answer() if callable(self._answer) else {"text": self._answer}


async def test_a_lent_model_says_an_unsure_question_once_in_the_words_of_the_code(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        alone = await client.request("carrel/context", ASKED)
        assert "def authenticate_user" not in alone["text"]
        model = Lent(client, SAID)
        helped = await client.request("carrel/augment", {**LENT, "text": VAGUE})
        assert "def authenticate_user" in helped["pack"]["text"]
        assert (helped["pack"]["rewritten"], helped["pack"].get("error")) == (SAID, None)
        assert helped["pack"]["confidence"] > alone["confidence"]
        assert helped["text"].endswith(VAGUE)
        [asked] = model.asked
        assert asked["modelToken"] == "m1"
        request = asked["messages"][-1]["text"]
        assert "  auth.py: authenticate_user\n" in request
        assert request.endswith(f"<question>\n{VAGUE}\n</question>")
        for hidden in (".env", "node_modules", "hunter2"):
            assert hidden not in request


async def test_nobody_is_asked_where_the_search_is_sure_or_the_request_says_never(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        model = Lent(client, SAID)
        for more in ({"query": "authenticate_user"}, {"query": "thanks!"}, {"plan": "never"}):
            alone = await client.request("carrel/context", {**ASKED, **more})
            lent = await client.request("carrel/context", {**LENT, **more})
            assert lent["text"] == alone["text"]
        await client.request("carrel/context", ASKED)  # lends none
        assert model.asked == []


async def test_always_is_for_every_question(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        model = Lent(client, SAID)
        await client.request("carrel/context", {**LENT, "query": "authenticate_user", "plan": "always"})
        assert len(model.asked) == 1


async def _fails() -> Any:
    raise RuntimeError("no quota")


async def _hangs() -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize("answer", ["", "I'm sorry, I can't help with that.", "many words " * 1_000, _fails, _hangs])
async def test_a_fault_of_the_model_leaves_the_answer_to_the_users_words(start: Start, project: Path, answer: Any) -> None:
    async with start(project, capabilities=CAPABILITIES, plannerSeconds=0.3) as client:
        alone = await client.request("carrel/context", ASKED)
        model = Lent(client, answer)
        lent = await client.request("carrel/context", LENT)
        assert len(model.asked) == 1
        assert lent["text"] == alone["text"]
        assert "The user's words were searched for." in lent["error"]
        assert "no quota" not in lent["text"]


async def test_a_cancel_reaches_the_model(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        asked = asyncio.Event()

        async def think() -> Any:
            asked.set()
            await asyncio.Event().wait()

        Lent(client, think)
        identity, context = client.send("carrel/context", {**LENT, "plan": "always"})
        await asyncio.wait_for(asked.wait(), 20)
        client.cancel(identity)
        with pytest.raises(LspError):
            await asyncio.wait_for(context, 5)
        Lent(client, SAID)
        assert (await client.request("carrel/context", LENT))["rewritten"] == SAID
        assert "$/cancelRequest" in [method for method, _ in client.notifications], "the model's request was taken back"
