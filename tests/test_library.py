from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import carrel
from carrel.core.errors import InvalidInput
from carrel.core.types import Budget, Filters
from carrel.engine.formats import SourceForm

AUTH = "def authenticate_user(name, password):\n    '''Check the login of a user.'''\n    return check(name, hash(password))\n"
ORDER = "class Order:\n    '''A customer order with items.'''\n    def __init__(self, items):\n        self.items = items\n"
POOL = "class DatabaseConnection:\n    '''Pool of database connections.'''\n    pool_size = 5\n    timeout = 30\n"


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def three() -> carrel.Index:
    index = carrel.Index()
    for path, text in (("auth.py", AUTH), ("order.py", ORDER), ("db/pool.py", POOL)):
        index.add_file(path, text)
    return index


def test_the_public_names_are_these() -> None:
    names: dict[str, object] = {}
    exec("from carrel import *", names)  # noqa: S102 - as a person types it
    assert {"Index", "SearchHit", "bag_of_words"} == names.keys() - {"__builtins__"}
    with pytest.raises(AttributeError):
        _ = carrel.nothing_of_the_kind


def test_importing_carrel_loads_nothing() -> None:
    code = (
        "import sys, carrel; print([m for m in sys.modules if m.startswith('carrel.') or m in ('pygls', 'lsprotocol', 'rich')])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"


def test_texts_are_added_and_searched() -> None:
    with three() as index:
        hits = index.search("how is a user's login checked?")
        assert hits[0].file_path == "auth.py"
        assert (hits[0].content, hits[0].start_line, hits[0].end_line) == (AUTH.rstrip(), 1, 3)
        assert 0 < hits[0].score <= 1
        assert index.search("database pool configuration")[0].file_path == "db/pool.py"
        assert len(index.search("class", k=1)) == 1
        assert index.search("zzqx") == []
        index.add_file("auth.py", ORDER.replace("Order", "Invoice"))
        assert not any("authenticate_user" in hit.content for hit in index.search("authenticate_user"))
        assert len(index) == 3


def test_the_context_keeps_its_budget_and_the_tool_its_form() -> None:
    with three() as index:
        pack = index.context("database pool", 200)
        assert pack.text.startswith('<rag_context>\n<code_context file="db/pool.py" lines="1-4"')
        assert len(pack.text) <= 200
        assert index.context("database pool", Budget(60, "tokens"), model="gpt-4o").tokens <= 60
        assert index.search_code("database pool", k=1).startswith("--- db/pool.py (lines 1-4, relevance: 0.")
        assert index.search_code("zzqx") == "No relevant code found."


def test_files_can_be_cut_by_lines() -> None:
    text = "".join(f"value_{n} = compute_something({n})\n" for n in range(1, 121))
    with carrel.Index(line_chunks=(50, 5)) as index:
        index.add_file("a.py", text)
        hits = index.search("compute_something", k=20)
        # Of windows that overlap, the better one is given.
        assert sorted((hit.start_line, hit.end_line) for hit in hits) == [(1, 50), (91, 120)]
        with carrel.Index(line_chunks=True) as default:
            default.add_file("a.py", text)
            assert default.search("compute_something", k=20) == hits


@pytest.mark.parametrize("windows", [(0, 0), (5, 5), (10, -1)])
def test_windows_that_get_nowhere_are_refused(windows: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput, match="line_chunks: "):
        carrel.Index(line_chunks=windows)


def test_the_source_form_has_parts_that_a_caller_replaces() -> None:
    with three() as index:
        form = SourceForm(separator="\n==\n", header_fmt="# {source}", make_source=lambda chunk: chunk.path)
        assert index.context("database pool", form=form).text.startswith("# db/pool.py\nclass DatabaseConnection")


def test_a_file_is_as_old_as_its_time_says_not_as_its_index(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    for name in ("old.py", "new.py"):
        (root / name).write_text(AUTH)
    year_ago = time.time() - 365 * 86_400
    os.utime(root / "old.py", (year_ago, year_ago))
    with carrel.Index(root) as index:
        assert {hit.file_path for hit in index.search("authenticate_user")} == {"old.py", "new.py"}
        assert {hit.file_path for hit in index.search("authenticate_user", filters=Filters(max_age_days=30))} == {"new.py"}
        (root / "old.py").write_text(AUTH + "\n# looked at again\n")
        index.index()
        assert {hit.file_path for hit in index.search("authenticate_user", filters=Filters(max_age_days=30))} == {
            "old.py",
            "new.py",
        }


def test_metadata_of_a_chunk_is_compared_exactly() -> None:
    with three() as index:
        everything = {hit.file_path for hit in index.search("database user order", k=9)}
        assert len(everything) == 3
        one = index.search("database user order", k=9, filters=Filters(metadata={"path": "db/pool.py", "language": ["python"]}))
        assert {hit.file_path for hit in one} == {"db/pool.py"}
        assert index.search("database user order", filters=Filters(metadata={"language": "markdown"})) == []
        assert index.search("database", filters=Filters(metadata={"colour": "red"})) == []
        with pytest.raises(InvalidInput, match=r"metadata: .*klingon"):
            index.search("database", filters=Filters(metadata={"language": "klingon"}))


def test_metadata_of_ones_own_is_compared() -> None:
    def found(**metadata: str | list[str]) -> set[str]:
        return {hit.file_path for hit in index.search("refund policy", k=9, filters=Filters(metadata=metadata))}

    with carrel.Index() as index:
        text = "# Refunds\n\nThe refund policy of {}.\n"
        index.add_file("a.md", text.format("spring"), metadata={"collection": "docs", "year": 2024, "final": True}, version="3")
        index.add_file("b.md", text.format("autumn"), metadata={"collection": "mail", "year": 2024})
        index.add_file("c.md", text.format("winter"))
        assert found() == {"a.md", "b.md", "c.md"}
        assert found(collection="docs") == found(final="true") == {"a.md"}
        assert found(year="2024") == found(collection=["docs", "mail"], language="markdown") == {"a.md", "b.md"}
        assert found(year="2025") == found(colour="red") == set()
        index.add_file("a.md", text.format("summer"))
        assert found(collection="docs") == set(), "replaced, with what was said of it"


def test_a_folder_is_indexed_and_followed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "auth.py").write_text(AUTH)
    (root / ".env").write_text("PASSWORD=authenticate_user\n")
    with carrel.Index(root) as index:
        assert [hit.file_path for hit in index.search("authenticate_user")] == ["auth.py"]  # indexed on first use
        (root / "order.py").write_text(ORDER)
        report = index.index()
        assert (report.added, report.unchanged) == (1, 1)
        assert index.search("customer order")[0].file_path == "order.py"
        (root / "order.py").unlink()
        # Checked when it is given, not only when it is indexed.
        assert "order.py" not in {hit.file_path for hit in index.search("customer order")}
    with carrel.Index(root) as again:
        assert again.index().removed == 1


def test_what_can_not_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="path"):
        carrel.Index(tmp_path / "none")
    with carrel.Index() as index, pytest.raises(InvalidInput, match="add_file"):
        index.index()
