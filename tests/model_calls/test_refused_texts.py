"""A request that is refused for one of its texts costs that text alone; any other failure is no text's fault."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model_calls.test_embedding import folder, function, symbols_with_vectors
from tests.support.awaited import DIM, AwaitedEmbedder, KeepingEmbedder, rows
from tests.support.indexing import run_index_blocking

from carrel.index import indexer
from carrel.model.errors import ProviderError, TextRefused
from carrel.model.native import CancelToken
from carrel.model.vectors import Vectors
from carrel.model_calls import embedding
from carrel.model_calls.embedding import Answered, EmbeddingRequest, embed_documents

Act = Callable[[Sequence[str], str], Any]
CONTROL = 1
"""The request that asks whether the model takes anything at all."""


def refusing(refused: Callable[[str], bool], status: int = 400, *, retryable: bool = False) -> Act:
    async def act(texts: Sequence[str], _: str) -> Vectors:
        if any(refused(text) for text in texts):
            raise ProviderError(f"refused ({status})", status=status, retryable=retryable)
        return rows(texts)

    return act


def asked_for(model: AwaitedEmbedder, *requests: Sequence[str], **more: Any) -> list[Answered]:
    first, asked = 0, []
    for texts in requests:
        asked.append(EmbeddingRequest(first, tuple(texts)))
        first += len(texts)
    return asyncio.run(embed_documents(model, asked, **more))


def by_text(answered: Sequence[Answered]) -> list[Any]:
    """The vector of each text, or its error."""
    found: list[Any] = []
    for part, answer in answered:
        assert part.first == len(found), "in order, without a gap"
        found += list(answer) if isinstance(answer, Vectors) else [answer] * len(part.texts)
    return found


def numbered(many: int) -> list[str]:
    return [f"text {number:03}" for number in range(many)]


@given(st.integers(1, 60), st.sets(st.integers(0, 59), max_size=4), st.sampled_from([400, 403, 413, 422, 500]))
def test_every_text_but_the_refused_ones_gets_its_vector(many: int, bad: set[int], status: int) -> None:
    texts = numbered(many)
    wrong = {texts[number] for number in bad if number < many}
    model = AwaitedEmbedder(refusing(wrong.__contains__, status))
    found = by_text(asked_for(model, texts))
    assert [text for text, answer in zip(texts, found, strict=True) if isinstance(answer, TextRefused)] == sorted(wrong)
    assert [answer for answer in found if isinstance(answer, bytes)] == list(rows([text for text in texts if text not in wrong]))
    most = 1 + (2 * CONTROL + 2 * len(wrong) * math.ceil(math.log2(many) + 1) if wrong else 0)
    assert len(model.asked) <= most


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_a_service_that_refuses_everything_is_asked_once_more_and_no_text_is_to_blame(status: int) -> None:
    model = KeepingEmbedder(refusing(lambda _: True, status))
    found = by_text(asked_for(model, numbered(100), numbered(100)))
    assert not any(isinstance(answer, TextRefused) for answer in found)
    assert (len(model.asked), model.refusals) == (2 + CONTROL, {})


@pytest.mark.parametrize("status", [401, 402, 404, 429, 503])
def test_a_failure_of_another_kind_is_not_looked_into(status: int) -> None:
    model = AwaitedEmbedder(refusing(lambda text: "007" in text, status))
    assert not any(isinstance(answer, TextRefused) for answer in by_text(asked_for(model, numbered(100))))
    assert len(model.asked) == 1


def test_a_service_that_takes_nothing_but_plain_words_is_soon_left_alone() -> None:
    model = KeepingEmbedder(refusing(lambda text: text.startswith("text")))
    found = by_text(asked_for(model, *[numbered(100)] * 9))
    assert len(model.asked) <= 9 + 2 * CONTROL + embedding.MOST_REFUSALS
    assert any(not isinstance(answer, TextRefused) for answer in found)


def test_a_rate_limit_in_the_middle_ends_the_search_and_keeps_what_was_embedded() -> None:
    answers = 0

    async def act(texts: Sequence[str], _: str) -> Vectors:
        nonlocal answers
        if "text 099" in texts:
            raise ProviderError("refused", status=400)
        answers += 1
        if answers > 2:  # the plain word and the first half were answered
            raise ProviderError("too many requests", status=429)
        return rows(texts)

    model = KeepingEmbedder(act)
    found = by_text(asked_for(model, numbered(100)))
    assert [isinstance(answer, bytes) for answer in found] == [True] * 50 + [False] * 50
    assert {str(answer) for answer in found[50:]} == {"too many requests"}
    assert model.refusals == {}


def test_one_refusal_of_a_text_that_is_asked_for_alone_does_not_count() -> None:
    left = [ProviderError("refused", status=400)]

    async def act(texts: Sequence[str], _: str) -> Vectors:
        if left:
            raise left.pop()
        return rows(texts)

    model = KeepingEmbedder(act)
    assert by_text(asked_for(model, ["alone"])) == list(rows(["alone"]))
    assert (len(model.asked), model.refusals) == (2 + CONTROL, {})


def test_no_text_is_to_blame_where_the_service_takes_nothing_any_more() -> None:
    asked = 0

    async def act(texts: Sequence[str], _: str) -> Vectors:
        nonlocal asked
        asked += 1
        if asked > 3 or "text 001" in texts:  # the plain words were taken
            raise ProviderError("no quota left", status=403)
        return rows(texts)

    model = KeepingEmbedder(act)
    found = by_text(asked_for(model, numbered(4)))
    assert not any(isinstance(answer, TextRefused) for answer in found)
    assert model.refusals == {}


@pytest.mark.parametrize("texts_a_request", [60, 4, 1])
def test_a_text_that_fails_with_a_status_of_500_is_asked_for_again_once(texts_a_request: int) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    texts = numbered(60)
    wrong = {f"text {number:03}" for number in (7, 20, 33, 59)}
    model = AwaitedEmbedder(refusing(wrong.__contains__, 500, retryable=True))
    parts = [texts[first : first + texts_a_request] for first in range(0, 60, texts_a_request)]
    found = by_text(asked_for(model, *parts, sleep=sleep))
    assert {text for text, answer in zip(texts, found, strict=True) if isinstance(answer, TextRefused)} == wrong
    assert set(pauses) == {embedding.PAUSES[0]}
    assert sum(pauses) <= 4
    model = AwaitedEmbedder(refusing(lambda text: text == "text 007", 500, retryable=True))
    assert not any(isinstance(answer, TextRefused) for answer in by_text(asked_for(model, numbered(64), patient=False)))
    assert len(model.asked) == 1


def test_a_service_that_fails_at_everything_for_a_while_is_waited_for() -> None:
    paused = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal paused
        paused += seconds

    async def act(texts: Sequence[str], _: str) -> Vectors:
        if paused < 7:
            raise ProviderError("it failed", status=500, retryable=True)
        return rows(texts)

    assert by_text(asked_for(KeepingEmbedder(act), numbered(9), sleep=sleep)) == list(rows(numbered(9)))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_vector_that_can_not_be_used_costs_its_own_text_only(value: float) -> None:
    async def act(texts: Sequence[str], _: str) -> Vectors:
        return Vectors.of([[value if text == "text 005" else 1.0, 0, 0, 0] for text in texts], DIM)

    found = by_text(asked_for(AwaitedEmbedder(act), numbered(9)))
    assert [isinstance(answer, TextRefused) for answer in found] == [number == 5 for number in range(9)]
    assert "not a finite number" in str(found[5])


def test_a_model_that_fails_over_one_text_costs_that_text_only() -> None:
    async def act(texts: Sequence[str], _: str) -> Vectors:
        if "text 003" in texts:
            raise ValueError("too long")
        return rows(texts)

    found = by_text(asked_for(AwaitedEmbedder(act), numbered(9)))
    assert [isinstance(answer, TextRefused) for answer in found] == [number == 3 for number in range(9)]


def test_zeros_for_different_texts_are_refused_and_for_one_or_none_they_are_not() -> None:
    async def zeros(texts: Sequence[str], _: str) -> Vectors:
        return Vectors(bytes(4 * DIM * len(texts)), DIM)

    (answer,) = {str(answer) for answer in by_text(asked_for(AwaitedEmbedder(zeros), numbered(3)))}
    assert "only vectors of zeros, by which nothing can be found" in answer
    for texts in (["???"], ["a", "a"], ["a", " ", ""]):
        assert all(isinstance(answer, bytes) for answer in by_text(asked_for(AwaitedEmbedder(zeros), texts)))


def test_a_text_that_was_refused_is_asked_for_again_only_where_all_is_asked_anew() -> None:
    model = KeepingEmbedder(refusing(lambda text: text in ("text 000", "text 004", "text 005")))
    first = by_text(asked_for(model, numbered(9)))
    model.asked.clear()
    assert [str(answer) for answer in by_text(asked_for(model, numbered(9)))] == [str(answer) for answer in first]
    assert model.documents() == [text for text in numbered(9) if text not in model.refusals]
    again = KeepingEmbedder()
    again.refusals = model.refusals
    assert all(isinstance(answer, bytes) for answer in by_text(asked_for(again, numbered(9), anew=True)))


def test_a_file_with_a_refused_text_does_not_fail_and_is_whole_but_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_AWAITED_BYTES", 1)  # a batch a file
    model = KeepingEmbedder(refusing(lambda text: "def refund" in text))
    files = {"a.py": function("order") + "\n\n" + function("refund") + "\n\n" + function("pay"), "b.py": function("ship")}
    with folder(tmp_path / "shop", files) as store:
        for _ in range(5):
            report = run_index_blocking(store, model, CancelToken())
            assert (report.failed, report.refused) == (0, 1)
            assert symbols_with_vectors(store) == ["order", "pay", "ship"]
        ((path, reason),) = store.failed()
        assert (path, TextRefused.is_reason(reason)) == ("a.py", True)
        assert reason.endswith("refused (400)")
        asked = len(model.asked)
        (tmp_path / "shop" / "a.py").write_text(function("pay"))
        report = run_index_blocking(store, model, CancelToken())
        assert (report.failed, report.refused, store.failed(), len(model.asked)) == (0, 0, [], asked)


def test_a_run_logs_one_line_for_all_refused_texts_and_one_for_all_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(indexer, "_AWAITED_BYTES", 1)

    async def act(texts: Sequence[str], _: str) -> Vectors:
        if any("def refund" in text for text in texts):
            raise ProviderError("refused", status=400)
        if any("def pay" in text for text in texts):
            raise ProviderError("no quota left")
        return rows(texts)

    model = AwaitedEmbedder(act, max_texts=1)
    names = [f"{kind}_{number}" for number in range(3) for kind in ("refund", "pay", "order")]
    with folder(tmp_path / "shop", {f"{at}_{name}.py": function(name) for at, name in enumerate(names)}) as store:
        run_index_blocking(store, model, CancelToken())
    failed, refused = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert failed == "3 texts were not embedded, and will be tried again. First reason: no quota left"
    assert refused.startswith("3 texts were refused: `carrel status` names their files. First reason: ")
    assert refused.endswith("refused")


def test_a_file_that_fails_besides_counts_as_failed(tmp_path: Path) -> None:
    async def act(texts: Sequence[str], _: str) -> Vectors:
        if any("def refund" in text for text in texts):
            raise ProviderError("refused", status=400)
        if any("def pay" in text for text in texts):
            raise ProviderError("no quota left")
        return rows(texts)

    model = AwaitedEmbedder(act, max_texts=1)
    with folder(tmp_path / "shop", {"a.py": "\n\n".join(map(function, ("refund", "order", "pay")))}) as store:
        report = run_index_blocking(store, model, CancelToken())
        assert (report.failed, report.refused, store.failed()) == (1, 0, [("a.py", "no quota left")])
