"""Retrieval quality on packages that the lock file pins: a real drop fails here, without the benchmark's corpora.

The questions and answers are our own and had no part in fitting anything. The floors are what was measured (2026-11-21)
less about four questions' worth.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from carrel.core.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.core.types import Query
from carrel.engine.evaluate import Case, Figures, measure, summarize
from carrel.engine.indexer import run_index_blocking
from carrel.engine.prepare import prepare_blocking
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer

QUESTIONS: dict[str, list[tuple[str, list[str]]]] = json.loads((Path(__file__).parent / "questions.json").read_text())


def package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> list[Figures]:
    model, tokenizer, out = bundled(), ExactTokenizer(), []
    for name, questions in QUESTIONS.items():
        root = package_folder(name)
        index = tmp_path_factory.mktemp(name)
        store = Store.open(
            str(index), str(root), embedder_id=model.spec.id, dim=model.spec.dim, walk=WalkOptions(), cut=CutOptions()
        )
        run_index_blocking(store, model, CancelToken())
        view = store.snapshot()
        known = set(view.paths())
        for question, answers in questions:
            here = known & set(answers)
            assert here, f"{name} has none of {answers}: mend questions.json for this version"
            asked = prepare_blocking(Query(question, limit=50), model)
            out.append(measure(view, asked, tokenizer, Case(name, question, frozenset(here)), CancelToken()))
        store.close()
    return out


def test_the_right_files_come_first(figures: list[Figures]) -> None:
    summary = summarize(figures, most_misses=20)
    told = "\n".join(f"{m.ndcg:.2f} {m.case.sha}: {m.case.question} -> {m.found[:4]}" for m in summary.misses)
    print(f"NDCG@10 {summary.ndcg10}, recall@10 {summary.recall10}, packs {summary.recall_at}\n{told}")
    assert summary.ndcg10 >= 0.78, told
    assert summary.recall10 >= 0.92, told


def test_a_small_pack_shows_the_right_files(figures: list[Figures]) -> None:
    recall = summarize(figures).recall_at
    assert recall[500] >= 0.88
    assert recall[1000] >= 0.9
