"""Questions, conversations and reviews from Python: with a model of the caller's, functions as tools, and checked citations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.shop import SHOP, write_files

import carrel
from carrel.agent.agent_steps import CallRefused, Event, ToolFinished
from carrel.composition.composition import Composition
from carrel.model.conversation import Completion, Message, ToolCall, ToolSpec
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.fakes import FakeChatModel
from carrel.model.ports import MODEL_DEFAULTS, Delta, Sampling

REVIEW = {
    "summary": "Reject expired tokens.",
    "difficulty_score": 2,
    "recommended_level": "Mid",
    "concepts_required": ["token expiry", "JWT validation"],
    "mentoring_advice": "Begin at src/auth.py.",
}


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return write_files(tmp_path / "shop", SHOP)


class Scripted(FakeChatModel):
    """Keeps its script for whoever offers tools: a search that is unsure asks for words, too."""

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        if not tools:
            yield Delta(finish="stop")
            return
        async for delta in super().stream(messages, tools, options):
            yield delta


def call(name: str, **arguments: Any) -> Completion:
    return Completion("", (ToolCall("", name, arguments),))


def test_a_question_is_answered_with_functions_as_tools_hop_by_hop(shop: Path) -> None:
    """Spec D9: incident -> docs -> metrics -> the cause; each hop uses the former's finding, and every step is visible."""

    def search_incidents(about: str) -> str:
        """Find incidents by what they are about."""
        return f"INC-4521: database timeout in {about}"

    async def search_docs(query: str) -> dict[str, str]:
        """Find documents."""
        return {"pool": "db-prod-03"} if "INC-4521" in query else {}

    def query_metrics(host: str, metrics: list[str], days: int = 1) -> dict[str, object]:
        """Ask for a host's metrics."""
        return {"host": host, "metrics": metrics, "peak": 150, "limit": 100 * days}

    seen: list[Event] = []
    model = Scripted(
        call("search_incidents", about="payments"),
        call("search_docs", query="INC-4521"),
        call("query_metrics", host="db-prod-03", metrics=["connections"]),
        Completion("Pool exhaustion on db-prod-03."),
    )
    tools: list[Callable[..., Any]] = [search_incidents, search_docs, query_metrics]
    answer = carrel.ask("why did payments go down yesterday?", shop, tools=tools, model=model, on_step=seen.append)
    assert str(answer) == "Pool exhaustion on db-prod-03."
    said = [step.result.text for step in answer.steps if isinstance(step, ToolFinished)]
    assert said[:2] == ["INC-4521: database timeout in payments", '{"pool":"db-prod-03"}']
    assert json.loads(said[2]) == {"host": "db-prod-03", "metrics": ["connections"], "peak": 150, "limit": 100}
    assert [step for step in seen if step in answer.steps] == list(answer.steps)
    offered = {spec.name: spec for spec in model.requests[0][1]}
    assert {"search_code", "search_incidents", "search_docs", "query_metrics"} <= offered.keys()
    assert offered["query_metrics"].description == "Ask for a host's metrics."
    assert offered["query_metrics"].schema["required"] == ["host", "metrics"]


def test_what_a_function_raises_and_arguments_that_do_not_fit_are_told_to_the_model(shop: Path) -> None:
    def divide(by: int) -> int:
        return 1 // by

    model = Scripted(call("divide", by="many"), call("divide", by=0), Completion("It can't be divided."))
    answer = carrel.ask("divide one", shop, tools=[divide], model=model)
    assert [step.problem for step in answer.steps if isinstance(step, CallRefused)] == [
        "Not run: by: must be of type integer, not string"
    ]
    [failed] = [step.result for step in answer.steps if isinstance(step, ToolFinished)]
    assert failed.is_error
    assert "ZeroDivisionError" in failed.text


def test_citations_are_checked_and_any_object_with_ask_is_a_model(shop: Path) -> None:
    class Plain:
        max_seq_length = 32_000

        def ask(self, **given: Any) -> str:
            self.user = given["user_prompt"]
            return "It is in src/gone.py:1-2."

    model = Plain()
    answer = carrel.ask("where are passwords checked?", shop, model=model)
    assert "src/auth.py" in model.user
    assert answer.text == "It is in src/gone.py:1-2 [unverified]."
    assert [one.ok for one in answer.citations] == [False]
    assert "src/gone.py" in answer.problem


def test_a_conversation_keeps_what_was_said(shop: Path) -> None:
    model = Scripted(Completion("It is verify."), Completion("By a test."))
    said = [{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Hello."}]
    with carrel.chat(shop, model=model, history=said) as talk:
        talk.ask("where are passwords checked?")
        talk.ask("and how is that tested?")
        assert [message.text for message in talk.history][1:] == [
            "Hello.",
            "where are passwords checked?",
            "It is verify.",
            "and how is that tested?",
            "By a test.",
        ]
    assert Message("assistant", "It is verify.") in model.requests[1][0]


def test_an_issue_is_reviewed_under_the_names_of_the_spec(shop: Path) -> None:
    """Spec A7: `summary`, `difficulty_score`, `recommended_level`, `concepts_required`, `mentoring_advice`, `chunks_used`."""
    model = Scripted(call("search_code", query="login token expired"), Completion(json.dumps(REVIEW)))
    review = carrel.review("Expired JWTs pass the login\n\n`validate_token()` ignores `exp`.", shop, model=model)
    assert {name: getattr(review, name) for name in REVIEW} == {**REVIEW, "concepts_required": ("token expiry", "JWT validation")}
    assert (review.chunks_used > 0, review.problem) == (True, "")
    assert "ignores `exp`" in model.requests[0][0][1].text
    broken = carrel.review("Expired JWTs pass the login", shop, model=Scripted(Completion("No idea.")))
    assert (broken.difficulty_score, broken.raw_text) == (None, "No idea.")
    assert "JSON" in broken.problem


def test_without_a_model_the_settings_name_it_or_the_remedy_is_said(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderError, match="No chat model is set"):
        carrel.ask("where are passwords checked?", shop)
    names: list[str | None] = []

    def made(_composition: Composition, _settings: object, name: str | None = None) -> FakeChatModel:
        names.append(name)
        return Scripted(Completion("Here."))

    monkeypatch.setattr(Composition, "chat_model", made)
    assert carrel.ask("where?", shop).text == "Here."
    assert carrel.ask("where?", shop, model="larger").text == "Here."
    assert names == [None, "larger"]


async def test_it_works_inside_a_running_loop(shop: Path) -> None:
    answer = await asyncio.to_thread(carrel.ask, "where?", shop, model=Scripted(Completion("Here.")))
    assert answer.text == "Here."
    assert carrel.ask("where?", shop, model=Scripted(Completion("Here."))).text == "Here."


def search_code(query: str) -> str:
    return query


def variadic(*queries: str) -> str:
    return str(queries)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tools": [search_code]}, "tools: have a name that is taken: search_code"),
        ({"tools": [variadic]}, "tools: variadic has the parameter"),
        ({"tools": ["grep"]}, "tools: has 'grep'"),
        ({"tools": variadic}, r"tools: is function. Give a list of functions, such as \[function\]"),
        ({"model": 3}, "model: is int"),
        ({"history": [{"role": "user"}]}, "history"),
        ({"max_tokens": 10}, "max_tokens: is too small"),
        ({"path": "nowhere"}, "path: .* is not a folder"),
    ],
)
def test_what_can_not_be_used_is_named(shop: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        carrel.ask("where?", **{"path": shop, "model": Scripted(Completion("Here.")), **options})
