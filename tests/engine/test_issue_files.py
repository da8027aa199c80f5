"""Which files of an issue come after those of its best chunks, and what that does to the order of the chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.core.native import CancelToken, Candidate
from carrel.core.types import Query
from carrel.engine.candidates import Stopwatch
from carrel.engine.issue_chunks import FITTED, ChunkSignals, FileStanding, FoundChunk
from carrel.engine.issue_files import FIRST, LAST, file_signals, next_files_first, order_files
from carrel.engine.localize import localize
from carrel.engine.prepare import prepare_blocking

from .texts import EMBEDDER, indexed

NOTHING = ChunkSignals(*(0.0 for _ in ChunkSignals._fields))
PATHS = [f"shop/{name}.py" for name in "abcdefghijkl"]


def found(path: str, words: float, lines: int = 1, file_words: int = 100) -> FoundChunk:
    """A chunk that holds so much of a title's words, and of which nothing else is known."""
    signals = NOTHING._replace(title_words=words)
    return FoundChunk(Candidate(lines, path, lines, lines, file_words=file_words), FITTED.title_words * words, signals)


def standings(paths: list[str]) -> dict[str, FileStanding]:
    return {path: FileStanding(behind=0.0, place=1.0, path_gain=0.0, lift=0.0) for path in paths}


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


@given(st.lists(st.sampled_from(PATHS), max_size=60), st.permutations(PATHS))
def test_every_chunk_stays_and_places_never_fall(paths: list[str], files: list[str]) -> None:
    placed = list(next_files_first(paths, files))
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
    signals = file_signals(chunks, standings(["one.py", "two.py"]), ())
    assert signals["two.py"].odds > signals["one.py"].odds == 0.0
    assert order_files(signals, standings(["one.py", "two.py"])) == ["two.py", "one.py"]
    long = [chunk._replace(chunk=found("two.py", 1.0, n, 1_000_000).chunk) for n, chunk in enumerate(chunks[1:], 1)]
    signals = file_signals([chunks[0], *long], standings(["one.py", "two.py"]), ())
    assert order_files(signals, standings(["one.py", "two.py"])) == ["one.py", "two.py"]


def test_what_the_whole_text_finds_is_told_as_shares() -> None:
    whole = [
        Candidate(1, "a.py", lexical=0.5, covered=0.5, dense=0.25),
        Candidate(2, "a.py", covered=0.25, dense=0.5),
        Candidate(3, "b.py", covered=1.0),
    ]
    known = file_signals([found("a.py", 1.0), found("b.py", 0.5)], standings(["a.py", "b.py"]), whole)
    assert (known["a.py"].whole_covered, known["a.py"].whole_meaning, known["b.py"].whole_covered) == (0.5, 0.5, 1.0)
    assert known["a.py"].whole_score == 0.0, "nothing was ranked"


def test_a_pinned_file_comes_before_all_others() -> None:
    paths = ["one.py", "pinned.py"]
    known = standings(paths) | {"pinned.py": FileStanding(behind=-9.0, place=0.1, path_gain=-6.0, lift=12.0)}
    signals = file_signals([found("one.py", 1.0), found("pinned.py", 0.0)], known, ())
    assert order_files(signals, known) == ["pinned.py", "one.py"]


@pytest.mark.parametrize("pinned", [(), tuple(PATHS[::2])])
def test_an_issue_of_many_files_is_answered_in_the_order_of_its_scores(pinned: tuple[str, ...]) -> None:
    code = 'def round_{0}(amount):\n    """Round an amount of an order to cents, way {0}."""\n    return {0}\n'
    index = indexed({path: code.format(number) for number, path in enumerate(PATHS)})
    text = "Amounts of an order are rounded to wrong cents\n" + "It happens with every order since the last release.\n" * 5
    prepared = prepare_blocking(Query(text, pinned=pinned), EMBEDDER)
    assert prepared.issue
    answer = localize(index, prepared.issue, prepared, CancelToken(), Stopwatch())
    scores = [found.score for found in answer.chunks]
    assert scores == sorted(scores, reverse=True)
    assert set(pinned) == {file.path for file in answer.files[: len(pinned)]}
    assert {file.path for file in answer.files} == set(PATHS) == set(answer.file_signals)
