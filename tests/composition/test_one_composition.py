"""Server, command line and library build and fill the same index in the same way."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.shop import SHOP, write_files
from tests.support.awaited import AwaitedEmbedder

import carrel
from carrel.composition.composition import Composition
from carrel.composition.models import BUNDLED, HASHED_WORDS, Registry, embedders
from carrel.index.open_index import OpenIndex
from carrel.index.workspace_state import FolderSettings
from carrel.model.errors import InvalidInput, ProviderError, StoreError
from carrel.model.native import CancelToken
from carrel.model.types import Query
from carrel.service import queries
from carrel.service.workspace import Workspace
from carrel.settings.model_settings import Models, ModelSettings
from carrel.settings.settings import Settings
from carrel.settings.settings_files import settings_of
from carrel.system.jobs import Jobs, Work
from carrel.upkeep.index_jobs import IndexRunner

# In a language that only the optional grammars cut along its syntax: without them it is cut by lines.
PERL = "sub total_price {\n    my ($order) = @_;\n    return sum(map { $_->{price} } @{$order->{items}});\n}\n"
FILES = {**SHOP, "src/prices.pl": PERL}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> Path:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return write_files(tmp_path / "shop", FILES)


def by_library(root: Path) -> None:
    with carrel.Index(root) as index:
        index.index()


def by_server(root: Path) -> None:
    async def run() -> None:
        jobs = Jobs()
        settings, _ = settings_of(root)
        workspace = Workspace(root, root.as_uri(), folder=FolderSettings(settings), composition=Composition(), jobs=jobs)
        await queries.search(workspace, Query("anything", 1), 30_000)
        await workspace.close()
        jobs.close()

    asyncio.run(run())


def by_command_line(root: Path) -> None:
    subprocess.run([sys.executable, "-m", "carrel", "index", str(root)], check=True, capture_output=True)


WAYS = [by_library, by_server, by_command_line]


def opened(root: Path) -> OpenIndex:
    settings, _ = settings_of(root)
    return Composition().open_index(root, settings)


def content(root: Path) -> Any:
    """What an index holds that doesn't depend on when it was made."""
    index = opened(root)
    view = index.store.snapshot()
    chunks = [chunk for path in sorted(view.paths()) for chunk in view.file_chunks(path)]
    found = [(c.id, c.path, c.kind, c.symbol, c.start_line, c.end_line, view.vector(c.doc)) for c in chunks]
    index.store.close()
    return found


@pytest.mark.parametrize("index_it", WAYS)
def test_what_one_has_indexed_the_others_find_current(project: Path, index_it: Callable[[Path], None]) -> None:
    index_it(project)
    index = opened(project)
    assert index.last_indexed is not None
    assert index.complete
    report = IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    assert (report.added, report.changed, report.removed, report.chunks, report.unchanged) == (0, 0, 0, 0, 4)
    index.store.close()
    before = content(project)
    with carrel.Index(project) as library:
        report = library.index(force=True)
    assert report.changed + report.added == 4
    assert content(project) == before  # byte for byte, though the library has cut all of it anew
    by_server(project)
    assert content(project) == before


def test_all_ways_make_the_same_index(project: Path) -> None:
    made = []
    for index_it in WAYS:
        index_it(project)
        made.append(content(project))
        index = opened(project)
        index.clear()
        index.store.close()
    assert made[0] == made[1] == made[2]
    assert "total_price" in {chunk[3] for chunk in made[0] if chunk[1] == "src/prices.pl"}


def test_texts_in_memory_are_cut_by_the_same_grammars() -> None:
    with carrel.Index() as index:
        index.add_file("prices.pl", PERL)
        assert {hit.symbol for hit in index.search("total_price")} == {"total_price"}


def test_models_are_found_by_their_provider_and_an_unknown_one_lists_the_known() -> None:
    outbound = Composition().outbound.of(Settings())
    assert embedders().names[:2] == (BUNDLED, HASHED_WORDS)
    made = [embedders().make(ModelSettings(provider=name), outbound) for name in (BUNDLED, HASHED_WORDS)]
    assert [model.spec.dim for model in made] == [256, 256]
    chosen = Settings(models=Models(embedder=ModelSettings(provider="gpt")))
    with pytest.raises(InvalidInput, match=r'no embedding model of a provider "gpt". There are: "bundled", "hashed words"'):
        Composition().embedder(chosen)
    assert Composition().embedder(Settings()).spec.id == Composition().embedder(chosen_by("bundled")).spec.id
    assert Registry("model", {"one": lambda *_: 1}).make(ModelSettings(provider="one"), outbound) == 1


def test_no_model_but_the_bundled_one_is_there_unless_it_is_set() -> None:
    composition = Composition()
    assert composition.reranker(Settings()) is None
    assert composition.planner_model(Settings()) is None
    with pytest.raises(ProviderError, match="No chat model is set"):
        composition.chat_model(Settings())


def chosen_by(provider: str) -> Settings:
    return Settings(models=Models(embedder=ModelSettings(provider=provider)))


def test_a_folder_that_is_gone_keeps_its_index(project: Path) -> None:
    by_library(project)
    index = opened(project)
    project.rename(project.with_name("moved"))
    with pytest.raises(StoreError, match="is gone; its index is kept"):
        IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    assert index.store.snapshot().files == 4
    index.store.close()


async def test_the_library_takes_an_embedder_that_is_awaited_inside_a_running_loop(project: Path) -> None:
    model = AwaitedEmbedder()
    with carrel.Index(project, embedder=model) as index:
        report = index.index()
        assert (report.added, report.failed) == (4, 0)
        assert {hit.symbol for hit in index.search("authenticate_user", k=9)} >= {"authenticate_user"}
        assert "authenticate_user" in index.context("authenticate_user", 2_000).text
        asked = len(model.documents())
        assert index.index().unchanged == 4
        assert len(model.documents()) == asked
    with carrel.Index(embedder=model) as texts:
        texts.add_file("a.py", SHOP["src/auth.py"])
        assert texts.search("check a login", k=1)[0].file_path == "a.py"
        assert len(model.documents()) == asked + 1


def test_the_library_says_when_a_model_failed(project: Path) -> None:
    async def refuses(*_: Any) -> Any:
        raise ProviderError("The key is wrong.")

    with carrel.Index(project, embedder=AwaitedEmbedder(refuses)) as index:
        assert index.index().failed == 4
        assert index.context("authenticate_user").problem
    with carrel.Index(embedder=AwaitedEmbedder(refuses)) as texts, pytest.raises(ProviderError, match="The key is wrong"):
        texts.add_file("a.py", SHOP["src/auth.py"])
