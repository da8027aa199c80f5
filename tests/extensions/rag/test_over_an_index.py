"""The retrieval core from end to end over a real index of a small project, with a model that a script plays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.shop import IGNORED, SHOP, write_files
from tests.support.plain_parts import FixedStore, ScriptedModel, document

import carrel
from carrel.composition.composition import Composition
from carrel.model.conversation import Completion
from carrel.model.errors import InvalidInput
from carrel.model.fakes import FakeChatModel
from carrel.rag import (
    PlainEmbedder,
    PlainIndex,
    RAGAgent,
    RAGAgentConfig,
    chat_model,
    pick_files_by_grouped_chunk_hits,
)

FILES = (
    SHOP
    | IGNORED
    | {
        "src/pool.py": "class ConnectionPool:\n    '''Keeps database connections.'''\n    size = 5\n    timeout = 30\n",
        "docs/refunds.md": "# Refunds\n\nA refund is paid within 14 days of the order.\n",
    }
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[carrel.Index]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with carrel.Index(write_files(tmp_path / "shop", FILES)) as made:
        yield made


def places(docs: list[Any]) -> list[str]:
    return [doc.metadata["path"] for doc in docs]


def test_a_question_is_answered_from_the_project(index: carrel.Index) -> None:
    model = ScriptedModel("By `authenticate_user`.", window=600)
    one = RAGAgent(model, PlainIndex(index), None)
    assert one.run("how is a login checked?") == "By `authenticate_user`."
    prompt = model.last["user_prompt"]
    assert prompt.startswith("Context:\nSource: src/auth.py:1-4\ndef authenticate_user(name, password):\n")
    assert prompt.endswith("\n\nQuestion: how is a login checked?")
    assert "hunter2" not in prompt
    assert "generated/out.py" not in places(one.retrieve("generated_wombat").docs)


def test_what_is_found_is_what_search_finds(index: carrel.Index) -> None:
    result = RAGAgent(ScriptedModel(), PlainIndex(index), None).retrieve("database connections", top_k=3)
    hits = index.search("database connections", 3)
    assert places(result.docs) == [hit.file_path for hit in hits]
    assert result.distances == [hit.score for hit in hits]
    assert result.docs[0].metadata == {
        "source": "src/pool.py:1-4",
        "path": "src/pool.py",
        "start_line": 1,
        "end_line": 4,
        "language": "python",
        "kind": "class",
        "symbol": "ConnectionPool",
    }


def test_filters_and_thresholds_hold(index: carrel.Index) -> None:
    for embedder in (None, PlainEmbedder(index.embedder)):
        one = RAGAgent(ScriptedModel(), PlainIndex(index), embedder, config=RAGAgentConfig(top_k=9))
        everything = one.retrieve("a refund of an order")
        assert {"src/orders.py", "docs/refunds.md"} <= set(places(everything.docs))
        least = everything.distances[0]
        assert least is not None
        assert len(one.retrieve("a refund of an order", similarity_threshold=least).docs) == 1
        assert one.retrieve("a refund of an order", similarity_threshold=1.01).docs == []
        python = one.retrieve("a refund of an order", metadata_filter={"language": "python"})
        assert set(places(python.docs)) == {"src/orders.py"}
        assert one.retrieve("a refund of an order", metadata_filter={"language": ["rust", "go"]}).docs == []
        with pytest.raises(InvalidInput, match="metadata_filter"):
            one.retrieve("a refund of an order", metadata_filter=["python"])  # type: ignore[arg-type]


def test_metadata_of_ones_own_are_compared() -> None:
    with carrel.Index() as index:
        for year in (2024, 2025):
            index.add_file(
                f"{year}.md", f"# Report\n\nThe report of {year} says more.\n", metadata={"year": year, "final": year < 2025}
            )
        one = RAGAgent(ScriptedModel(), PlainIndex(index), None)
        assert places(one.retrieve("report", metadata_filter={"year": 2025}).docs) == ["2025.md"]
        assert places(one.retrieve("report", metadata_filter={"year": 2024.0, "final": True}).docs) == ["2024.md"]


def test_texts_are_as_they_stand_now(index: carrel.Index, tmp_path: Path) -> None:
    one = RAGAgent(ScriptedModel(), PlainIndex(index), None)
    assert one.retrieve("login checked").docs
    (tmp_path / "shop/src/auth.py").write_text("def other():\n    return 1\n")
    assert "src/auth.py" not in places(one.retrieve("authenticate_user").docs)


def test_vectors_of_another_model_are_refused(index: carrel.Index) -> None:
    from tests.support.plain_parts import FixedEmbedder  # noqa: PLC0415

    with pytest.raises(InvalidInput, match="query_embedding"):
        RAGAgent(ScriptedModel(), PlainIndex(index), FixedEmbedder()).retrieve("order")


def test_several_questions_make_one_answer(index: carrel.Index) -> None:
    model = ScriptedModel(window=700)
    one = RAGAgent(model, PlainIndex(index), None, config=RAGAgentConfig(top_k=2))
    results = [one.retrieve(question) for question in ("login", "database connections", "refund", "login")]
    together = one.combine(results, user_query="What does the shop do?")
    assert places(together.docs)[:3] == ["src/auth.py", "src/pool.py", "docs/refunds.md"]
    assert len(places(together.docs)) == len({doc.text for doc in together.docs})
    one.generate(together)
    assert model.last["user_prompt"].endswith("Question: What does the shop do?")


def test_the_chat_model_of_the_settings_answers(index: carrel.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeChatModel(Completion("By a salted hash."))
    monkeypatch.setattr(Composition, "chat_model", lambda _self, _settings, name=None: model if name == "small" else None)
    one = RAGAgent(chat_model("small"), PlainIndex(index), None)
    assert one.run("how is a login checked?") == "By a salted hash."
    assert "src/auth.py" in model.requests[0][0][-1].text


def test_files_are_picked_from_an_index_and_from_any_store(index: carrel.Index) -> None:
    found = pick_files_by_grouped_chunk_hits(None, index, "total price of an order", n_files=2)
    assert found[0] == "src/orders.py"
    assert found == carrel.pick_files_by_grouped_chunk_hits(None, index, "total price of an order", n_files=2)
    for embedder in (None, PlainEmbedder(index.embedder)):
        assert pick_files_by_grouped_chunk_hits(embedder, PlainIndex(index), "total price of an order")[0] == "src/orders.py"


def test_files_of_a_store_are_ranked_by_the_sum_of_their_scores() -> None:
    scored = [("a", "docs", 0.9), ("b", "docs", 0.5), ("b", "mail", 0.5), ("c", "mail", 0.1)]
    store: Any = FixedStore([(document("x", filename=name, folder=folder), score) for name, folder, score in scored])

    class Embedder:
        def embed(self, texts: Any, normalize_embeddings: bool) -> Any:  # noqa: ARG002
            return [[1.0] for _ in texts]

    assert pick_files_by_grouped_chunk_hits(Embedder(), store, "q") == ["b", "a", "c"]
    assert store.asked[0]["top_k"] == 200
    assert pick_files_by_grouped_chunk_hits(Embedder(), store, "q", 3, 1, "folder") == ["docs"]
    assert pick_files_by_grouped_chunk_hits(Embedder(), store, "q", file_key=lambda doc: doc.text) == ["x"]
    with pytest.raises(InvalidInput, match="no document that was found has 'team'"):
        pick_files_by_grouped_chunk_hits(Embedder(), store, "q", file_key="team")
    store.found = [document("x", filename="a")]
    with pytest.raises(InvalidInput, match="without scores"):
        pick_files_by_grouped_chunk_hits(Embedder(), store, "q")
