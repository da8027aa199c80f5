"""The map of a project that a model sees: which parts are the main ones is told by the index, and nothing unreadable is on it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.support.indexing import run_index_blocking
from tests.support.texts import EMBEDDER, indexed

from carrel.model.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.model.types import Filters
from carrel.search.project_map import CHARACTERS, project_map

EVERYTHING = Filters()
FILES = {
    "shop/ledger.py": "def post_entry(entry):\n    return entry\n\n\ndef unused_helper(entry):\n    return entry\n",
    "shop/orders.py": "def place_order(order):\n    return post_entry(order)\n",
    "shop/refunds.py": "def refund(order):\n    return post_entry(order)\n",
    "tests/test_ledger.py": "def test_entries():\n    assert post_entry(1) == 1\n",
    "notes.txt": "Nothing.\n",
}


def test_files_are_named_with_what_they_define_and_what_others_use_comes_first() -> None:
    shown = project_map(indexed(FILES), EVERYTHING)
    assert "shop/\n  ledger.py: post_entry, unused_helper\n  orders.py: place_order\n" in shown
    assert shown == project_map(indexed(dict(reversed(FILES.items()))), EVERYTHING), "whatever the order of indexing"


def test_a_large_project_is_shown_by_its_folders_those_whole_that_others_use() -> None:
    many = {f"cases/part_{n}/case_{m}.py": f"def case_{n}_{m}():\n    return {n}\n" for n in range(30) for m in range(20)}
    core = {f"core/part_{n}.py": f"def core_step_{n}():\n    return {n}\n" for n in range(5)}
    users = {f"apps/app_{n}.py": f"def app_{n}():\n    return core_step_{n % 5}()\n" for n in range(40)}
    shown = project_map(indexed(many | core | users), EVERYTHING)
    assert all(f"  part_{n}.py: core_step_{n}" in shown for n in range(5))
    assert "cases/ (600 files)" in shown or "part_0/ (20 files)" in shown
    assert len(shown) <= CHARACTERS


def test_filters_hold() -> None:
    view = indexed(FILES)
    assert "ledger" not in project_map(view, Filters(exclude=("*ledger*",)))
    assert project_map(view, Filters(path_globs=("nowhere/**",))) == ""


def test_what_was_ignored_since_is_not_on_it(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    (root / "shop").mkdir(parents=True)
    for path in ("shop/ledger.py", "shop/orders.py"):
        (root / path).write_text(FILES[path], "utf-8")
    spec = EMBEDDER.spec
    index = str(tmp_path / "index")
    store = Store.open(index, str(root), embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions())
    run_index_blocking(store, EMBEDDER, CancelToken())
    assert "post_entry" in project_map(store.snapshot(), EVERYTHING)
    (root / ".gitignore").write_text("ledger.py\n", "utf-8")
    shown = project_map(store.snapshot(), EVERYTHING)
    assert "place_order" in shown
    assert "ledger" not in shown
    assert "post_entry" not in shown
    store.close()


PATHS = st.lists(st.text("abcdefgh", min_size=1, max_size=30), min_size=1, max_size=6).map("/".join)


@given(st.sets(PATHS, max_size=120), st.integers(0, 400))
def test_it_is_never_longer_than_it_may_be(paths: set[str], most: int) -> None:
    files = {f"{path}.py": f"def {path.replace('/', '_')}_step():\n    return 1\n" for path in paths}
    assert len(project_map(indexed(files), EVERYTHING, most)) <= most
