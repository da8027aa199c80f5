"""Models that are awaited: their limits, their failures, and what these cost the index."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.awaited import DIM, AwaitedEmbedder, KeepingEmbedder, rows
from tests.support.fakes import FakeEmbedder
from tests.support.indexing import run_index_blocking

from carrel.index import indexer
from carrel.model.errors import Cancelled, ProviderError
from carrel.model.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.model.ports import EmbeddingSpec
from carrel.model.types import Query
from carrel.model.vectors import Vectors
from carrel.model_calls import embedding
from carrel.model_calls.embedding import EmbeddingRequest, embed_buffer, embed_documents, embed_queries, requests
from carrel.question.prepare import SearchText, prepare, prepare_blocking
from carrel.question.query_words import read
from carrel.search.candidates import search


@contextmanager
def folder(root: Path, files: dict[str, str]) -> Iterator[Store]:
    root.mkdir(exist_ok=True)
    for path, text in files.items():
        (root / path).write_text(text)
    place = root.parent / "index"
    store = Store.open(str(place), str(root), embedder_id="awaited-1", dim=DIM, walk=WalkOptions(), cut=CutOptions())
    yield store
    store.close()


def function(name: str) -> str:
    return f"def {name}(value):\n    return value + 1  # long enough to be a chunk of its own\n"


class Words:
    """Counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())

    def trim(self, text: str, max_tokens: int) -> str:
        return " ".join(text.split()[:max_tokens])


@pytest.mark.parametrize(
    ("texts", "limits", "tokenizer", "expected"),
    [
        (["a", "b", "c"], {"max_texts": 2}, None, [["a", "b"], ["c"]]),
        (["a", "b"], {"max_texts": 0}, None, [["a"], ["b"]]),
        (["aaaa", "bbbb", "cccc"], {"max_tokens": 2}, None, [["aaaa", "bbbb"], ["cccc"]]),
        (["a" * 100, "b"], {"max_tokens": 3}, None, [["a" * 12], ["b"]]),
        (["one two three", "four"], {"max_tokens": 2}, Words(), [["one two"], ["four"]]),
        ([], {}, None, []),
    ],
)
def test_requests_keep_to_the_limits_of_the_model(texts: Any, limits: Any, tokenizer: Any, expected: list[list[str]]) -> None:
    found = requests(texts, EmbeddingSpec("m", 1, **limits), tokenizer)
    assert [list(request.texts) for request in found] == expected
    assert [request.first for request in found] == [sum(map(len, expected[:at])) for at in range(len(expected))]


def pauses_of(*failures: ProviderError) -> tuple[list[float], list[Any]]:
    left, pauses = list(failures), list[float]()

    async def act(texts: Sequence[str], _: str) -> Vectors:
        if left:
            raise left.pop(0)
        return rows(texts)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    answered = asyncio.run(embed_documents(AwaitedEmbedder(act), [EmbeddingRequest(0, ("x",))], sleep=sleep))
    return pauses, [answer for _, answer in answered]


def busy(retry_after: float | None = None) -> ProviderError:
    return ProviderError("busy", retryable=True, retry_after=retry_after)


def test_a_failure_that_passes_is_tried_again_after_longer_and_longer_pauses() -> None:
    pauses, answers = pauses_of(busy(), busy(), busy(7), busy(900))
    assert pauses == [0.5, 1, 7, 30]
    assert isinstance(answers[0], Vectors)
    pauses, answers = pauses_of(*[busy() for _ in range(9)])
    assert pauses == [0.5, 1, 2, 4, 8]
    assert str(answers[0]) == "busy"
    pauses, answers = pauses_of(ProviderError("wrong key"))
    assert (pauses, str(answers[0])) == ([], "wrong key")


GARBAGE = [
    (Vectors.of([[1.0, 0, 0, 0]], DIM), "1 vectors of 4 values for 2 texts"),
    (Vectors.of([[1.0], [1.0]], 1), "2 vectors of 1 values"),
    (Vectors.of([[1.0, 0, 0, 0], [3.0, 4.0, 0, 0]], DIM), "length 5, which must be one or zero"),
    (Vectors.of([[1.0, 0, 0, float("nan")], [1.0, 0, 0, 0]], DIM), "not a finite number"),
    (Vectors.of([[1.0, 0, 0, float("inf")], [1.0, 0, 0, 0]], DIM), "not a finite number"),
    ([[1.0], [2.0]], "a list where vectors were due"),
    (None, "a NoneType where vectors were due"),
]


@pytest.mark.parametrize(("given", "message"), GARBAGE)
async def test_vectors_that_can_not_be_used_are_an_error_that_names_the_model(given: Any, message: str) -> None:
    async def act(*_: Any) -> Any:
        return given

    with pytest.raises(ProviderError, match=message) as caught:
        await embed_queries(AwaitedEmbedder(act), ["one", "two"])
    assert "awaited-1" in str(caught.value)


def symbols_with_vectors(store: Store) -> list[str]:
    view = store.snapshot()
    return [chunk.symbol for path in view.paths() for chunk in view.file_chunks(path) if view.vector(chunk.doc)]


def test_a_failed_request_costs_its_own_chunks_only_and_the_next_run_embeds_these_alone(tmp_path: Path) -> None:
    broken = True

    async def act(texts: Sequence[str], _: str) -> Vectors:
        if broken and any("def refund" in text for text in texts):
            raise ProviderError("refused")
        return rows(texts)

    model = AwaitedEmbedder(act, max_texts=1)
    files = {"a.py": function("order") + "\n\n" + function("refund") + "\n\n" + function("pay"), "b.py": function("ship")}
    with folder(tmp_path / "shop", files) as store:
        report = run_index_blocking(store, model, CancelToken())
        assert (report.added, report.failed, report.chunks) == (2, 1, 3)
        assert symbols_with_vectors(store) == ["order", "pay", "ship"]
        assert (store.snapshot().chunks_without_vectors, store.failed()) == (1, [("a.py", "refused")])
        by_words, _ = search(store.snapshot(), SearchText(read("refund")), Query("refund"), 0.1, CancelToken())
        assert "refund" in {candidate.symbol for candidate in by_words}
        broken = False
        asked = len(model.asked)
        report = run_index_blocking(store, model, CancelToken())
        assert (report.changed, report.failed, report.chunks) == (1, 0, 1)
        assert len(model.asked) == asked + 1  # only what failed was paid for again
        assert symbols_with_vectors(store) == ["order", "refund", "pay", "ship"]
        assert (store.snapshot().chunks_without_vectors, store.failed()) == (0, [])


def test_a_model_that_is_down_is_waited_for_once_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(indexer, "_AWAITED_BYTES", 1)  # a batch a file

    async def act(*_: Any) -> Vectors:
        raise busy()

    model = AwaitedEmbedder(act)
    with folder(tmp_path / "shop", {f"{name}.py": function(name) for name in "abc"}) as store:
        assert run_index_blocking(store, model, CancelToken()).failed == 3
    assert len(model.asked) == 3 + 1 + 1


def test_a_cancel_ends_a_run_whose_model_never_answers(tmp_path: Path) -> None:
    token = CancelToken()

    async def act(*_: Any) -> Vectors:
        token.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    with folder(tmp_path / "shop", {"a.py": function("a")}) as store, pytest.raises(Cancelled):
        run_index_blocking(store, AwaitedEmbedder(act), token)


def test_typing_never_asks_a_model_that_is_awaited(tmp_path: Path) -> None:
    model = AwaitedEmbedder()
    with folder(tmp_path / "shop", {"a.py": function("a")}) as store:
        batch = store.cut_buffer("a.py", function("refund_of_order"), CancelToken())
        assert batch.text_paths() == ["a.py"]
        embed_buffer(batch, model, CancelToken())
        store.commit_buffer(batch)
        view = store.snapshot()
        by_words, _ = search(view, SearchText(read("refund order")), Query("refund order"), 0.1, CancelToken())
        assert [candidate.symbol for candidate in by_words] == ["refund_of_order"]
    assert model.asked == []


async def test_a_question_whose_model_hangs_is_prepared_without_vectors_and_says_so() -> None:
    async def deaf(*_: Any) -> Vectors:
        while True:  # doesn't even heed its cancel
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if asked_twice:
                    raise
                asked_twice.append(True)

    asked_twice: list[bool] = []
    found = await prepare(Query("where is it"), AwaitedEmbedder(deaf), seconds=0.01)
    assert found.texts[""].vector == b""
    assert "didn't answer within 0.01 s" in str(found.problem)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_a_blocking_call_works_inside_a_running_loop() -> None:
    found = prepare_blocking(Query("where is it"), AwaitedEmbedder())
    assert len(found.texts[""].vector) == 4 * DIM


def test_requests_of_a_batch_are_under_way_together_but_not_all() -> None:
    under_way = most = 0

    async def act(texts: Sequence[str], _: str) -> Vectors:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _unused in range(5):
            await asyncio.sleep(0)
        under_way -= 1
        return rows(texts)

    asked = [EmbeddingRequest(number, (str(number),)) for number in range(20)]
    answers = asyncio.run(embed_documents(AwaitedEmbedder(act), asked))
    assert answers == [(request, rows(request.texts)) for request in asked]
    assert most == embedding.AT_ONCE


def test_developers_who_index_the_same_at_once_ask_for_different_parts_first() -> None:
    async def act(texts: Sequence[str], _: str) -> Vectors:
        return Vectors.unit([[1.0, float(text), 0.0, 0.0] for text in texts], DIM)

    asked = [EmbeddingRequest(number, (str(number),)) for number in range(40)]
    orders = []
    for model in (AwaitedEmbedder(act), KeepingEmbedder(act, shared=True), KeepingEmbedder(act, shared=True)):
        answers = asyncio.run(embed_documents(model, asked))
        assert [answer for _, answer in answers] == [Vectors.unit([[1.0, float(n), 0.0, 0.0]], DIM) for n in range(40)]
        orders.append(model.documents())
    assert orders[0] == [str(number) for number in range(40)]
    assert orders[0] != orders[1] != orders[2]


def test_ctrl_c_while_a_model_of_the_core_embeds_is_no_fault_of_the_model() -> None:
    class Interrupted(FakeEmbedder):
        async def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # noqa: ARG002
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_blocking(Query("q"), Interrupted())


def test_a_model_that_fails_again_and_again_is_not_asked_for_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "_AWAITED_BYTES", 1)  # a batch a file

    async def refuses(*_: Any) -> Any:
        raise ProviderError("The key is wrong.")

    model = AwaitedEmbedder(refuses)
    with folder(tmp_path / "code", {f"{n}.py": function(f"f{n}") for n in range(9)}) as store:
        report = run_index_blocking(store, model, CancelToken())
        assert (len(model.asked), report.failed) == (3, 9)
        model = AwaitedEmbedder()
        report = run_index_blocking(store, model, CancelToken())
        assert (report.added, report.changed, store.snapshot().chunks_without_vectors) == (6, 3, 0)
