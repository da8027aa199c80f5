"""How often a source is searched because it holds what a question names, though no word of the question asks for a source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.quality.corpus import package_folder
from tests.shop import write_files

from carrel.core.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.engine.indexer import run_index_blocking
from carrel.engine.routing_rules import choose
from carrel.engine.source_evidence import AskedWords, evidence
from carrel.providers.local import bundled

HERE = Path(__file__).parent
SET: dict[str, Any] = json.loads((HERE / "evidence.json").read_text("utf-8"))
CODE: dict[str, list[tuple[str, list[str]]]] = json.loads((HERE / "questions.json").read_text("utf-8"))
LEAST = {False: 0.95, True: 0.8}


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The documents, and two packages as workspaces."""
    folders = {name: package_folder(name) for name in ("rich", "anyio")}
    folders["documents"] = write_files(tmp_path_factory.mktemp("documents"), SET["documents"])
    model, stores = bundled(), {}
    for name, root in folders.items():
        directory = str(tmp_path_factory.mktemp(name))
        stores[name] = Store.open(
            directory, str(root), embedder_id=model.spec.id, dim=model.spec.dim, walk=WalkOptions(), cut=CutOptions()
        )
        run_index_blocking(stores[name], model, CancelToken())
    yield {name: store.snapshot() for name, store in stores.items()}
    for store in stores.values():
        store.close()


@pytest.mark.parametrize("kept_aside", [False, True])
def test_what_only_a_source_holds_is_looked_for_there(views: Any, kept_aside: bool) -> None:
    asked = [one["text"] for one in SET["questions"] if one["keptAside"] == kept_aside]
    by_words = sum("documents" in {choice.target for choice in choose(text)} for text in asked)
    reached = [text for text in asked if evidence(AskedWords.of(text), views["documents"], views["rich"])]
    print(f"{len(asked)} questions: {by_words} by their words, {len(reached)} by evidence")
    assert len(reached) >= LEAST[kept_aside] * len(asked), sorted(set(asked) - set(reached))


@pytest.mark.parametrize("package", ["rich", "anyio"])
def test_questions_about_code_seldom_go_astray(views: Any, package: str) -> None:
    found = {text: evidence(AskedWords.of(text), views["documents"], views[package]) for text, _ in CODE[package]}
    astray = {text: why for text, why in found.items() if why}
    print(f"{package}: {len(astray)} of {len(found)}: {astray}")
    assert len(astray) <= 0.1 * len(found), astray
