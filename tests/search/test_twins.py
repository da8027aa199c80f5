"""Of copies that differ by version, platform or manner one is given: the one that something speaks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.shop import write_files
from tests.support.texts import EMBEDDER, indexed

import carrel
from carrel.model.native import CancelToken
from carrel.model.types import Lines, Query
from carrel.question.prepare import prepare_blocking
from carrel.search import twins
from carrel.search.merge import merged
from carrel.search.retriever import find, read


def lock(word: str) -> str:
    return (
        f"class {word}FileLock:\n    def acquire_lock(self, path):\n        '''Acquire the lock on the file.'''\n"
        f"        handle = open_{word.lower() or 'any'}(path)\n        return handle.lock(path, exclusive=True)\n"
    )


SYSTEMS = {f"locks/_{name}.py": lock(name.title()) for name in ("windows", "unix", "darwin")}
VERSIONS = {f"{folder}fields.py": lock("") for folder in ("api/", "api/v1/", "api/legacy/")}
MANNERS = {"http/_sync/pool.py": lock(""), "http/_async/pool.py": lock("Async")}
PROCESSORS = {f"lock/{name}/find.py": lock("") for name in ("amd64", "arm64")}
RELEASES = {f"lua-{number}/lgc.py": lock("") for number in ("5.1.5", "5.3.6", "5.10.1")}
STAGES = {f"{stage}/types.py": lock("") for stage in ("v1", "v2", "v2beta1")}
ASKED = "how is the lock on the file acquired"


def sql(extra: str = "") -> str:
    head = "CREATE FUNCTION acquire_lock(path text) RETURNS int AS $$\n-- Acquire the lock on the file.\n"
    return f"{head}SELECT 1 {extra};\n$$ LANGUAGE sql;\n"


UPGRADES = {f"updates/locks--1.{n}--1.{n + 1}.sql": sql(f"+ {n}") for n in range(3)} | {"sql/lock.sql": sql("+ 9")}
TRANSLATED = {
    f"lang/{name}/locks.py": f"LINES = {{\n    'lock_on_the_file': 'acquired: {word}',\n}}\n"
    for name, word in (("de", "gesperrt"), ("pt-BR", "bloqueado"), ("fr", "verrou"), ("en", "locked"))
}


def given(
    files: Mapping[str, str], text: str, monkeypatch: pytest.MonkeyPatch, machine: str = "linux", **query: Any
) -> list[str]:
    """The files of what a pack gets, best first."""
    monkeypatch.setattr(twins, "machine", lambda: (machine, "amd64"))
    asked, token = Query(text, **query), CancelToken()
    found = read(find(indexed(files), prepare_blocking(asked, EMBEDDER), token), asked, token, one_of_twins=True)
    for drop in found.dropped:
        assert any(drop.reason.startswith(f"a copy or variant of {hit.chunk.path}:") for hit in found.hits), drop
    assert {hit.chunk.path for hit in found.hits} | {drop.path for drop in found.dropped} == set(files)
    return [hit.chunk.path for hit in found.hits]


def test_of_files_with_the_same_bytes_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"billing/lock.py": lock(""), "billing.egg-info/lock.py": lock(""), "shared/lock.py": lock("") + "\nMORE = 1\n"}
    paths = given(files, ASKED, monkeypatch)
    assert sorted(paths) in (["billing.egg-info/lock.py", "shared/lock.py"], ["billing/lock.py", "shared/lock.py"])
    pinned = given(files, ASKED, monkeypatch, pinned=("billing/lock.py", "billing.egg-info/lock.py"))
    assert sorted(pinned) == sorted(files), "what a person pinned stays"


@pytest.mark.parametrize(
    ("files", "text", "more", "wanted"),
    [
        (SYSTEMS, ASKED, {}, ["locks/_unix.py"]),
        (SYSTEMS, ASKED, {"machine": "windows"}, ["locks/_windows.py"]),
        (SYSTEMS, ASKED, {"machine": "darwin"}, ["locks/_darwin.py"]),
        (SYSTEMS, ASKED, {"machine": "freebsd"}, ["locks/_unix.py"]),
        (SYSTEMS, f"{ASKED} on Windows", {}, ["locks/_windows.py"]),
        (SYSTEMS, f"{ASKED} on FreeBSD", {"machine": "windows"}, ["locks/_unix.py"]),
        (SYSTEMS, ASKED, {"active_path": "app/main_win32.py"}, ["locks/_windows.py"]),
        (SYSTEMS | {"locks/_other.py": lock("Other")}, "how is the other lock on the file acquired", {}, ["locks/_unix.py"]),
        (PROCESSORS, ASKED, {}, ["lock/amd64/find.py"]),
        (PROCESSORS, f"{ASKED} with neon", {}, ["lock/arm64/find.py"]),
        ({"_pslinux.py": lock(""), "_psbsd.py": lock("")}, f"{ASKED} on OpenBSD", {}, ["_psbsd.py"]),
        (VERSIONS, ASKED, {}, ["api/fields.py"]),
        (VERSIONS, f"v1: {ASKED}", {}, ["api/v1/fields.py"]),
        (VERSIONS, f"{ASKED} in the legacy code", {}, ["api/legacy/fields.py"]),
        (VERSIONS, ASKED, {"active_path": "api/v1/main.py"}, ["api/v1/fields.py"]),
        (MANNERS, ASKED, {}, ["http/_sync/pool.py"]),
        (MANNERS, f"{ASKED} asynchronously with asyncio", {}, ["http/_async/pool.py"]),
        (RELEASES, ASKED, {}, ["lua-5.10.1/lgc.py"]),
        (RELEASES, f"{ASKED} in 5.3", {}, ["lua-5.3.6/lgc.py"]),
        (STAGES, ASKED, {}, ["v2/types.py"]),
        (UPGRADES, ASKED, {}, ["sql/lock.sql"]),
        (UPGRADES, f"{ASKED} in 1.1", {}, ["updates/locks--1.0--1.1.sql"]),
        (TRANSLATED, ASKED, {}, ["lang/en/locks.py"]),
        (STAGES, f"{ASKED}, v2beta1", {}, ["v2beta1/types.py"]),
    ],
)
def test_the_one_that_something_speaks_for_is_given(
    files: Mapping[str, str], text: str, more: dict[str, Any], wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert given(files, text, monkeypatch, **more) == wanted


def test_what_a_question_compares_and_what_is_pinned_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    both = given(SYSTEMS, f"{ASKED} on windows compared with darwin", monkeypatch)
    assert set(both) == {"locks/_windows.py", "locks/_darwin.py"}
    pinned = given(SYSTEMS, ASKED, monkeypatch, pinned=("locks/_darwin.py",))
    assert "locks/_darwin.py" in pinned


def test_one_that_was_left_out_has_nothing_in_its_place_but_its_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "machine", lambda: ("darwin", "amd64"))
    asked, token = Query(ASKED, left_out=(Lines("locks/_darwin.py", 1, 9),)), CancelToken()
    found = read(find(indexed(SYSTEMS), prepare_blocking(asked, EMBEDDER), token), asked, token, one_of_twins=True)
    assert [hit.chunk.path for hit in found.hits] == ["locks/_unix.py"]


@pytest.mark.parametrize(
    "files",
    [
        {"locks/_unix.py": "def acquire_lock(file):\n    return file.lock()\n", "locks/_windows.py": lock("Windows")},
        {"locks/files.py": lock(""), "locks/sockets.py": lock("") + "\n"},
        {"shop/v1.py": lock(""), "bank/v2.py": lock("") + "\n"},
        {"ipv4.py": lock(""), "ipv6.py": lock("") + "\n"},
        {f"{folder}/locks.py": lock(folder) for folder in ("cs", "ts", "it")},
        {f"{folder}/locks.py": lock(folder) for folder in ("en", "ts")},
    ],
)
def test_code_that_is_no_copy_stays(files: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(given(files, ASKED, monkeypatch)) == set(files)


def test_a_search_shows_all_with_the_right_one_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "machine", lambda: ("windows", "amd64"))
    asked, token = Query(ASKED), CancelToken()
    ranking = find(indexed(SYSTEMS), prepare_blocking(asked, EMBEDDER), token)
    found = read(ranking, asked, token)
    assert found.hits[0].chunk.path == "locks/_windows.py"
    assert {hit.chunk.path for hit in found.hits} == set(SYSTEMS)
    first, *others = ranking.order.places
    assert [name for name, _ in first.steps] == ["variant"]
    assert not any(place.steps for place in others)


def test_a_translation_that_holds_what_was_asked_for_stays_and_the_others_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given(TRANSLATED, "acquired: verrou", monkeypatch)[0] == "lang/fr/locks.py"
    assert "lang/de/locks.py" in given(TRANSLATED, ASKED, monkeypatch, pinned=("lang/de/locks.py",))
    for naming in ("lang/de/locks.py", f"{ASKED} in German?"):
        shown = given(TRANSLATED, naming, monkeypatch)
        assert "lang/de/locks.py" in shown
        assert "lang/fr/locks.py" not in shown
    asked, token = Query(ASKED), CancelToken()
    files = TRANSLATED | {"shop/other.py": "def keep(path):\n    return path.file\n"}
    found = read(find(indexed(files), prepare_blocking(asked, EMBEDDER), token), asked, token)
    paths = [hit.chunk.path for hit in found.hits]
    assert paths[:2] == ["lang/en/locks.py", "shop/other.py"]
    assert set(paths) == set(files), "a search shows them all"


def test_of_versions_the_newest_that_may_answer_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "def acquire_lock(path):\n    raise OSError('the file is not locked by anybody here')\n"
    files = {"lua-5.1.5/lgc.py": said, "lua-5.3.6/lgc.py": said, "lua-5.4.0/lgc.py": "def acquire_lock(path):\n    return path\n"}
    monkeypatch.setattr(twins, "machine", lambda: ("linux", "amd64"))
    asked, token = Query("the file is not locked by anybody here"), CancelToken()
    found = read(find(indexed(files), prepare_blocking(asked, EMBEDDER), token), asked, token)
    assert found.hits[0].chunk.path == "lua-5.3.6/lgc.py"


def test_a_change_is_asked_of_every_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(given(SYSTEMS, "Add a timeout to acquire_lock of the file lock", monkeypatch)) == set(SYSTEMS)


def test_parts_of_a_question_may_want_different_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "machine", lambda: ("linux", "amd64"))
    view, token = indexed(SYSTEMS), CancelToken()
    asked = [Query(f"{ASKED} on {name}") for name in ("windows", "darwin")]
    joined = merged([find(view, prepare_blocking(query, EMBEDDER), token) for query in asked])
    found = read(joined, asked[0], token, one_of_twins=True)
    assert {hit.chunk.path for hit in found.hits} == {"locks/_windows.py", "locks/_darwin.py"}


def test_a_copy_is_given_where_the_one_that_stands_for_it_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copies = {f"{folder}/lock.py": lock("") for folder in ("billing", "shared")}
    root = write_files(tmp_path / "project", copies)
    with carrel.Index(root) as index:
        text = index.context(ASKED).text
        [shown] = [path for path in copies if path in text]
        (root / shown).unlink()
        assert ({*copies} - {shown}).pop() in index.context(ASKED).text
