"""Check which files of an issue come after those of its best chunks, and what that does to the order of the chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.core.native import CancelToken, Candidate
from carrel.core.types import Query
from carrel.engine.candidates import Stopwatch
from carrel.engine.issue_chunks import FITTED, ChunkSignals, FileStanding, FoundChunk
from carrel.engine.issue_files import FIRST, LAST, file_signals, next_files_first, order_files
from carrel.engine.localize import Localization, localize
from carrel.engine.prepare import prepare_blocking

from .texts import EMBEDDER, indexed

NOTHING = ChunkSignals(*(0.0 for _ in ChunkSignals._fields))
PATHS = [f"shop/{name}.py" for name in "abcdefghijkl"]


def found(path: str, words: float, lines: int = 1, file_words: int = 100) -> FoundChunk:
    """A chunk that holds so much of a title's words, and of which nothing else is known."""
    signals = NOTHING._replace(title_words=words)
    score = FITTED.title_words * words
    return FoundChunk(Candidate(lines, path, lines, lines, file_words=file_words), path, score, signals, score)


def standings(paths: list[str]) -> dict[str, FileStanding]:
    return {path: FileStanding(0.0, 1.0, 0.0, 0.0, 0.0, 0.0) for path in paths}


def ordered(paths: list[str], files: list[str]) -> list[str]:
    return [paths[number] for number, _ in next_files_first(paths, files)]


def test_the_files_after_the_first_five_come_in_the_order_given() -> None:
    files = PATHS[::-1]
    assert ordered(PATHS, files)[:FIRST] == PATHS[:FIRST]
    assert ordered(PATHS, files)[FIRST:LAST] == files[: LAST - FIRST]
    assert ordered(PATHS, files)[LAST:] == PATHS[FIRST : len(PATHS) - (LAST - FIRST)]


def test_a_chunk_takes_the_place_of_the_one_that_waits() -> None:
    paths = [*PATHS[:FIRST], "late.py", "late.py", "early.py"]
    placed = list(next_files_first(paths, ["early.py", "late.py"]))
    assert placed[FIRST:] == [(7, 5), (5, 5), (6, 6)]


@given(st.lists(st.sampled_from(PATHS), max_size=60), st.permutations(PATHS), st.integers(0, 12))
def test_every_chunk_stays_and_places_never_fall(paths: list[str], files: list[str], settled: int) -> None:
    placed = list(next_files_first(paths, files, settled))
    assert placed[:settled] == [(number, number) for number in range(min(settled, len(paths)))]
    assert sorted(number for number, _ in placed) == list(range(len(paths)))
    places = [place for _, place in placed]
    assert places == sorted(places), "scores, which are those of the places, fall with the order"
    of_a_file = {path: [number for number, _ in placed if paths[number] == path] for path in paths}
    assert all(numbers == sorted(numbers) for numbers in of_a_file.values())


def test_a_file_that_no_order_knows_keeps_its_place() -> None:
    assert ordered(PATHS, []) == PATHS
    assert ordered([], PATHS) == []


def test_two_good_chunks_count_more_than_one_and_less_in_a_long_file() -> None:
    chunks = [found("one.py", 1.0), found("two.py", 1.0), found("two.py", 0.9, 2)]
    signals = file_signals(chunks, standings(["one.py", "two.py"]))
    assert signals["two.py"].odds > signals["one.py"].odds == 0.0
    assert order_files(signals) == ["two.py", "one.py"]
    long = [chunk._replace(chunk=found("two.py", 1.0, n, 1_000_000).chunk) for n, chunk in enumerate(chunks[1:], 1)]
    signals = file_signals([chunks[0], *long], standings(["one.py", "two.py"]))
    assert order_files(signals) == ["one.py", "two.py"]


def test_settled_chunks_stay_where_they_are() -> None:
    placed = list(next_files_first(PATHS, PATHS[::-1], settled=7))
    assert placed[:7] == [(number, number) for number in range(7)]
    assert [PATHS[number] for number, _ in placed[7:LAST]] == PATHS[::-1][: LAST - 7]


def located(text: str, pinned: tuple[str, ...] = ()) -> Localization:
    prints = 'raise ValueError("could not round way {0}")'
    code = f'def round_{{0}}(amount):\n    """Round an amount of an order to cents, way {{0}}."""\n    {prints}\n'
    shop = {path: code.format(number) for number, path in enumerate(PATHS)}
    fails = 'def test_it():\n    raise ValueError("could not pay for all of it")\n'
    index = indexed(shop | {"tests/test_a.py": f"{fails}\n\ndef test_round():\n    round_0(1)\n"})
    prepared = prepare_blocking(Query(text, pinned=pinned), EMBEDDER)
    assert prepared.issue
    return localize(index, prepared.issue, prepared, CancelToken(), Stopwatch())


ROUNDED = "Amounts of an order are rounded to wrong cents\n" + "It happens with every order since the last release.\n" * 5
PRINTED = "2026-01-01 12:00:00 ERROR could not round way 9\n" * 8
FAILED = "2026-01-01 12:00:00 ERROR could not pay for all of it\n" * 8


@pytest.mark.parametrize("text", [ROUNDED, PRINTED, FAILED])
@pytest.mark.parametrize("pinned", [(), ("tests/test_a.py",), tuple(PATHS[::2]), (*PATHS, "tests/test_a.py")])
def test_pinned_files_and_writers_come_first_and_scores_never_rise(text: str, pinned: tuple[str, ...]) -> None:
    answer = located(text, pinned)
    docs = [found.chunk.doc for found in answer.chunks]
    assert len(docs) == len(set(docs))
    scores = [found.score for found in answer.chunks]
    assert scores == sorted(scores, reverse=True)
    listed = [file.path for file in answer.files]
    assert set(listed[: len(pinned)]) == set(pinned)
    writers = {PRINTED: "shop/j.py", FAILED: "tests/test_a.py"}
    if text in writers and writers[text] not in pinned:
        assert listed[len(pinned)] == writers[text]
    assert set(listed) == {*PATHS, "tests/test_a.py"}


def test_a_pinned_file_takes_nothing_from_the_others() -> None:
    alone, pinned = located(ROUNDED), located(ROUNDED, ("tests/test_a.py",))
    assert pinned.chunks[0].path == "tests/test_a.py"
    assert pinned.chunks[0].score == alone.chunks[0].score
    assert pinned.chunks[1].score == alone.chunks[0].score
