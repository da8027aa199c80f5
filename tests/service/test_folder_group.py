"""Several workspace folders asked as one, where one of them is slow or fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.index.workspace_state import FolderSettings
from carrel.model.errors import CarrelError, NotReady, StoreError
from carrel.model.types import Chunk, Filters, Hit, Signals, Span
from carrel.search.folders import filters_in, named_hit, plain_hit
from carrel.search.merge import merge_by_score
from carrel.service.folder_group import FolderGroup, named, ready
from carrel.service.workspace import Workspace
from carrel.settings.settings import Settings
from carrel.system.jobs import Jobs
from carrel.upkeep.index_jobs import IndexRunner


def group_of(*roots: Path) -> FolderGroup:
    folder = FolderSettings(Settings(storage="workspace"))
    composition, jobs = Composition(), Jobs()
    workspaces = [Workspace(root, root.as_uri(), folder=folder, composition=composition, jobs=jobs) for root in roots]
    return FolderGroup(named(workspaces), workspaces[0], longest_match)


def hit(path: str, score: float) -> Hit:
    return Hit(Chunk(id="0", path=path, span=Span(1, 2), text="x\n"), score, Signals())


async def test_folders_of_one_name_have_names_of_their_own(tmp_path: Path) -> None:
    group = group_of(tmp_path / "a" / "app", tmp_path / "b" / "app", tmp_path / "a-app", tmp_path / "other")
    assert list(group.folders) == ["a-app", "b-app", "a-app-2", "other"]
    found = group.place("b-app/src/x.py")
    assert found is not None
    assert (found[0].root, found[1]) == (tmp_path / "b" / "app", "src/x.py")
    assert group.place("@docs/x.md") is None


async def test_a_folder_that_hangs_is_named_when_the_time_is_up(tmp_path: Path) -> None:
    group = group_of(tmp_path / "fast", tmp_path / "slow", tmp_path / "broken")
    hanging, ended = asyncio.Event(), list[str]()

    async def ask(name: str, _: Workspace) -> str:
        if name == "slow":
            try:
                await hanging.wait()
            finally:
                await asyncio.sleep(0)
                ended.append(name)
        if name == "broken":
            raise ValueError("a secret text")
        return name

    given, missing = await group.each_in_time(ask, asyncio.get_running_loop().time() + 0.2)
    assert ended == ["slow"], "nothing of it goes on after the answer"
    assert given == {"fast": "fast"}
    assert [(one.name, str(one.cause)) for one in missing] == [
        ("slow", "it gave no answer in time"),
        ("broken", "something went wrong inside Carrel; its log says more"),
    ]


async def test_a_question_that_no_folder_answers_fails_with_every_reason(tmp_path: Path) -> None:
    group = group_of(tmp_path / "one", tmp_path / "two")

    async def alike(name: str, _: Workspace) -> None:
        raise NotReady("There is no index")

    async def apart(name: str, _: Workspace) -> None:
        raise CarrelError(f"{name} is broken")

    with pytest.raises(NotReady, match="There is no index"):
        await group.each(alike)
    with pytest.raises(CarrelError, match=r"one was not searched: one is broken\. .* two was not searched: two is broken"):
        await group.each(apart)


class Failing(IndexRunner):
    """Makes no index."""

    async def run(self, *_: Any) -> Any:
        raise StoreError("The disk is full")


async def test_a_folder_whose_first_index_fails_does_not_count_as_searched(tmp_path: Path) -> None:
    folder = FolderSettings(Settings(storage="workspace"))
    workspace = Workspace(tmp_path, tmp_path.as_uri(), folder=folder, composition=Composition(), jobs=Jobs(), runner=Failing())
    with pytest.raises(NotReady, match="The disk is full"):
        await ready(workspace, explicit=True, wait_ms=20_000, about="")
    assert FolderGroup({"one": workspace}, workspace, longest_match).state() == "error"
    await workspace.close()


@pytest.mark.parametrize("most", [0, 1, 3, 10])
def test_hits_are_merged_by_relevance_and_each_folder_keeps_its_order(most: int) -> None:
    one, two = [hit("a", 0.9), hit("b", 0.2)], [hit("c", 0.9), hit("d", 0.5), hit("e", 0.1)]
    assert [found.chunk.path for found in merge_by_score([one, two], most)] == list("acdbe")[:most]


@pytest.mark.parametrize("name", ["api-2", "a[b]"])
@pytest.mark.parametrize(
    ("glob", "inside"), [("{}", "**"), ("{}/", "**"), ("./{}", "**"), ("/{}/", "**"), ("{}/**", "**"), ("{}/src/", "src")]
)
def test_the_name_of_a_folder_in_a_glob_stands_for_all_of_it(name: str, glob: str, inside: str) -> None:
    globs = (glob.format(name), f"{name}x", f"src/{name}", "/", "*.py")
    counting = filters_in(Filters(path_globs=globs, exclude=globs), (name,), ())
    assert counting.path_globs == counting.exclude == (*globs, inside)


def test_a_hit_of_a_folder_can_be_told_from_its_twin_and_given_back_as_it_was() -> None:
    plain = hit("src/a.py", 0.5)
    here, there = named_hit(plain, "one"), named_hit(plain, "two")
    assert here.chunk.id != there.chunk.id
    assert (here.chunk.path, here.chunk.path_in_folder) == ("one/src/a.py", "src/a.py")
    assert plain_hit(here) == plain_hit(there) == plain == plain_hit(plain)
    assert replace(here, chunk=plain.chunk) == plain
