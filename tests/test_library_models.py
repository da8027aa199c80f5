"""Models of the caller's own in an index of the library."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.shop import write_files
from tests.test_library import AUTH, ORDER, POOL, three

import carrel
from carrel import library
from carrel.extensions.rag.plain import PlainChatModel
from carrel.model.conversation import Completion
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.fakes import FakeChatModel, FakeEmbedder, FakeReranker, faulty
from carrel.model.ports import EmbeddingSpec
from carrel.model.types import Filters
from carrel.model.vectors import Vectors


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class LeavingEmbedder:
    """Does what a client library does that calls `sys.exit`, or gives rows of another size."""

    spec = EmbeddingSpec("leaving", 4)

    def __init__(self, rows: list[list[float]] | None = None) -> None:
        self.rows = rows

    async def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # noqa: ARG002
        if self.rows is None:
            raise SystemExit(1)
        return Vectors.unit(self.rows * len(texts), 4)


@pytest.mark.parametrize(
    ("rows", "told"), [(None, "failed: SystemExit"), ([[1.0, 2.0]], "gave a vector of 2 values where 4 were due")]
)
def test_a_model_that_leaves_or_gives_other_rows_is_named(rows: list[list[float]] | None, told: str) -> None:
    for _ in range(2):  # the loop that such models share goes on
        with carrel.Index(embedder=LeavingEmbedder(rows)) as index, pytest.raises(ProviderError, match=f"leaving {told}"):
            index.add_file("a.py", "def total(order):\n    return sum(line.price for line in order.lines)\n")


class Unreliable(FakeEmbedder):
    """Answers while it is up."""

    up = False

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
        vectors = await super().embed(texts, kind)
        if not self.up:
            raise ProviderError("The model is down.")
        return vectors


def test_a_model_that_is_down_at_first_is_asked_again_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "project", {"auth.py": AUTH, "order.py": ORDER})
    model = Unreliable()
    with carrel.Index(tmp_path / "project", embedder=model) as index:
        assert index.search("login of a user")[0].file_path == "auth.py", "by its words"
        index.context("login of a user")
        assert [kind for _, kind in model.requests].count("document") == 1
        model.up = True
        told = "The index has no vectors of the embedding model fake yet: the question was answered by its words alone."
        assert index.context("login of a user").problem == told
        later = time.monotonic() + library.RETRY_SECONDS
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert index.search("login of a user")[0].file_path == "auth.py"
        assert index.context("login of a user").problem is None


def test_another_model_has_an_index_of_its_own(tmp_path: Path) -> None:
    root = write_files(tmp_path / "project", {"auth.py": AUTH, "order.py": ORDER})
    with carrel.Index(root) as index:
        index.index()
    model = FakeEmbedder(EmbeddingSpec("other", 16))
    with carrel.Index(root, embedder=model) as index:
        pack = index.context("login of a user")
        assert "auth.py" in pack.text
        assert pack.problem is None
        assert "document" in {kind for _, kind in model.requests}
    with carrel.Index(root) as index:
        assert index.index().added == 0


UNIT: Any = "words"


WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda index: index.context(5), "query: must be text, not a whole number"),
    (lambda index: index.context("account", "4000"), "budget: must be a whole number, not text"),
    (lambda index: index.context("account", 400.5), "budget: must be a whole number, not a fraction"),
    (lambda index: index.context("account", carrel.Budget(10, UNIT)), 'budget.unit: must be "tokens" or "chars"'),
    (lambda index: index.context("account", carrel.Budget(-1)), "budget.amount: must be 0 or more"),
    (lambda index: index.context("account", k="5"), "k: must be a whole number, not text"),
    (lambda index: index.context("account", k=-1), "k: must be 0 or more"),
    (lambda index: index.context("account", k=20_000), "k: must be 10,000 at most"),
    (lambda index: index.context("account", model=3), "model: must be text, not a whole number"),
    (lambda index: index.context("account", tokenizer="x"), "tokenizer: must be a tokenizer, not str"),
    (lambda index: index.context("account", chars_per_token=[4]), "chars_per_token: must be a number, not a list"),
    (
        lambda index: index.context("account", form="html"),
        'form: must be "xml", "source", "tool", "places" or a form of your own',
    ),
    (lambda index: index.context("account", filters={"languages": ["python"]}), "filters: must be carrel.model.types.Filters"),
    (lambda index: index.search("account", filters=Filters(languages="python")), "filters.languages: must be a list, not text"),  # type: ignore[arg-type]
    (lambda index: index.search(None), "query: must be text, not nothing"),
    (lambda index: index.retrieve_context("account", "2"), "limit: must be a whole number, not text"),
    (lambda index: index.add_file(3, "x"), "path: must be text or a pathlib.Path, not int"),
    (lambda index: index.add_file("x.py", 3), "content: must be text, not a whole number"),
    (
        lambda index: index.add_file("x.py", "x", metadata={"tags": ["a"]}),
        "metadata['tags']: must be true or false or a whole number or a number or text, not a list",
    ),
    (lambda index: index.add_file("x.py", "x", metadata={1: "a"}), "a key of metadata: must be text, not a whole number"),
    (lambda index: index.add_file("x.py", "x", version=3), "version: must be text, not a whole number"),
    (lambda _: carrel.Index(line_chunks=(5, "x")), "line_chunks[1]: must be a whole number, not text"),  # type: ignore[arg-type]
    (lambda _: carrel.Index(embedder="bundled"), "embedder: must be a model, not str"),  # type: ignore[arg-type]
    (lambda _: carrel.Index(planner=3), "model: is int"),  # type: ignore[arg-type]
    (lambda index: index.search_assessed("a", None), "model: is NoneType"),
    (lambda index: carrel.pick_files_by_grouped_chunk_hits(None, index, "a", n_files="2"), "n_files: must be a whole number"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_argument_is_named(call: Callable[[Any], object], message: str) -> None:
    with carrel.Index() as index:
        index.add_file("a.py", "def load_account(number):\n    return database.account_of(number)\n")
        with pytest.raises(InvalidInput, match=re.escape(message)):
            call(index)
        number: Any = IndexLike(3)
        assert index.context("account", k=number).items


class IndexLike:
    """A number as other libraries have them."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


def test_a_plain_chat_model_assesses_and_plans() -> None:
    verdict = '{"is_relevant": true, "is_sufficient": true, "action": "answer", "refined_query": ""}'

    def plain(reply: str) -> PlainChatModel:
        return PlainChatModel(FakeChatModel(Completion(reply)))

    with carrel.Index(planner=plain("load account number")) as index:
        index.add_file("a.py", "def load_account(number):\n    return database.account_of(number)\n")
        index.add_file("b.py", "def send_mail(receiver):\n    return post(receiver)\n")
        found = index.search_assessed("account number", plain(verdict))
        assert (len(found.attempts), found.problem, found.attempts[0].assessment.is_sufficient) == (1, None, True)
        assert index.search("who owns money?", k=1)[0].file_path == "a.py"


def test_context_for_a_question_is_chosen_from_twenty_and_reranked() -> None:
    with carrel.Index() as plain, carrel.Index(reranker=FakeReranker()) as reranked:
        for index in (plain, reranked):
            for n in range(12):
                index.add_file(f"pool{n}.py", POOL.replace("pool_size", f"pool_size_{n}"))
        text = plain.retrieve_context("database pool_size_7 connections", limit=2)
        assert text.count("--- pool") == 2
        assert plain.retrieve_context("database").count("--- pool") == 5
        assert plain.retrieve_context("zzqx") == "No relevant code found."
        judged = reranked.retrieve_context("pool_size_11", limit=1)
        assert judged.startswith("--- pool11.py (lines 1-4, relevance: 1.00) ---\nclass DatabaseConnection:")
        assert plain.retrieve_context("pool", limit=0) == "No relevant code found."


@pytest.mark.parametrize(
    "fault", [{"fail": ProviderError("down")}, {"garble": lambda scores: scores[1:]}, {"garble": lambda _: [math.nan] * 3}]
)
def test_without_its_reranker_the_order_stays(fault: dict[str, object]) -> None:
    with carrel.Index(reranker=faulty(FakeReranker(), **fault)) as index:  # type: ignore[arg-type]
        for path, text in (("auth.py", AUTH), ("order.py", ORDER), ("db/pool.py", POOL)):
            index.add_file(path, text)
        assert index.retrieve_context("database order user") == index.search_code("database order user", k=5)


def test_every_search_can_be_reranked_and_says_where_it_was_not() -> None:
    question = "authenticate order database"
    with three() as plain, carrel.Index(reranker=FakeReranker()) as index:
        for path, text in (("auth.py", AUTH), ("order.py", ORDER), ("db/pool.py", POOL)):
            index.add_file(path, text)
        assert index.search(question) == plain.search(question)
        judged, found = (index.search("customer pool timeout items", rerank=rerank)[0].score for rerank in (True, False))
        assert judged != found
        pack = index.context("pool timeout", rerank=True)
        assert pack.items[0].hit.signals.rerank == 1.0
        assert pack.problem is None
    with carrel.Index(reranker=faulty(FakeReranker(), fail=ProviderError("The service is down."))) as index:
        index.add_file("auth.py", AUTH)
        pack = index.context("user login", rerank=True)
        assert pack.items
        assert pack.problem == "The service is down. The hits stand in the order of the search."
