"""The functions that a stack trace names come first, wherever and in whichever version it was printed."""

from __future__ import annotations

import pytest
from tests.support.texts import ask, indexed

from carrel.model.native import Snapshot
from carrel.model.types import Filters
from carrel.search.certainty import OF_A_TRACE

STEPS = "".join(f"def step_{n}(value):\n    total = value + {n}\n    return total\n\n\n" for n in range(8))
NESTED = (
    "def retrying(call):\n    def attempt(*given):\n        again = call(*given)\n        return again\n    return attempt\n\n\n"
)
FILES = {
    "run.py": "def main(argv):\n    job = Job(argv)\n    return job.start()\n",
    "shop/job.py": STEPS + "class Job:\n    def start(self):\n        first = load(self)\n        return first\n",
    "shop/load.py": NESTED + STEPS,
    "market/load.py": STEPS,
    "errors.md": "# Errors\n\nA job whose value is bad raises ValueError: bad value of a job.\n",
}
TRACE = """Traceback (most recent call last):
  File "{root}run.py", line 2, in main
    job = Job(argv)
  File "{root}shop/job.py", line {line}, in start
    first = load(self)
  File "{root}shop/load.py", line 3, in attempt
    again = call(*given)
  File "/usr/lib/python3.11/site-packages/toolkit/run.py", line 80, in dispatch
    raise ValueError(value)
ValueError: bad value of a job
"""
RUNNING = ["retrying", "Job", "main"]


@pytest.fixture(scope="module")
def view() -> Snapshot:
    return indexed(FILES)


def first(view: Snapshot, text: str) -> list[str]:
    return [hit.chunk.symbol.partition(".")[0] for hit in ask(view, text).hits[:3]]


@pytest.mark.parametrize("root", ["", "/srv/build-71/", "C:\\work\\shop-app\\"])
@pytest.mark.parametrize("line", [43, 12, 900])
@pytest.mark.parametrize("around", ["{}", "why does this fail since yesterday?\n\n```\n{}```"])
def test_what_was_running_comes_first_the_innermost_before_its_callers(view: Snapshot, root: str, line: int, around: str) -> None:
    trace = TRACE.format(root=root, line=line)
    found = ask(view, around.format(trace.replace("/", "\\") if "\\" in root else trace))
    assert [hit.chunk.symbol.partition(".")[0] for hit in found.hits[:3]] == RUNNING
    assert min(hit.score for hit in found.hits[:3]) >= OF_A_TRACE
    assert "in_trace" in dict(found.hits[0].signals.boosts)
    assert found.confidence >= OF_A_TRACE


@pytest.mark.parametrize(
    "text",
    [
        "shop/job.py:17: error: bad value of a job [arg-type]",
        "shop/job.py:17: error: bad value of a job [arg-type]\n\nFound 1 error in 1 file",
        "what is wrong at `shop/job.py:17`?",
        "Why does line 17 of shop/job.py raise ValueError for a job?",
        "does src/shop/job.py#L17 check the value of a job",
        "the job fails in shop/job.py, line 17",
        "shop/job.py(17,5): error TS2322: a job is not a value",
        "[ERROR] /srv/src/shop/job.py:[17,5] bad value of a job",
        "e: /srv/src/shop/job.py: (17, 5): bad value of a job",
        "shop/job.py\n  17:5  error  Bad value of a job  no-bad-value",
        "Build file '/srv/src/shop/job.py' line: 17",
    ],
)
def test_a_place_without_a_function_is_told_by_its_line(view: Snapshot, text: str) -> None:
    found = ask(view, text)
    assert found.hits[0].chunk.symbol == "step_3"
    assert found.confidence >= OF_A_TRACE


def test_a_bare_name_that_one_file_has_is_a_place_of_its_function(view: Snapshot) -> None:
    text = "Exception in thread main\n\tat shop.market.Job.start(Job.kt:8)\n==7== by 0x109: start (job.c:3)\n"
    files = {**FILES, "src/main/kotlin/Job.kt": "class Job {\n    fun start(): Value {\n        return load(this)\n    }\n}\n"}
    assert ask(indexed(files), text).hits[0].chunk.path == "src/main/kotlin/Job.kt"


@pytest.mark.parametrize("text", ["what is wrong at Makefile:5?", "line 5 of the Makefile fails at 10:30:15"])
def test_a_file_without_an_ending_is_a_place(text: str) -> None:
    makefile = "all:\n\t@echo a job\n\nload:\n\t./load value\n\njob:\n\t@echo bad value of a job\n"
    assert ask(indexed({**FILES, "Makefile": makefile}), text).hits[0].chunk.path == "Makefile"


@pytest.mark.parametrize(
    "text", ["job.py:900: error: bad value of a job", "a job listens on example.com:80", "lib/job.py:17 of a job"]
)
def test_a_line_or_a_folder_that_is_not_there_names_no_place(view: Snapshot, text: str) -> None:
    assert "named_place" not in {name for hit in ask(view, text).hits for name, _ in hit.signals.boosts}


@pytest.mark.parametrize("other", ["", "lib/job.py"])
def test_a_name_without_its_folder_is_a_place_where_one_file_has_it(other: str) -> None:
    view = indexed({**FILES, **({other: FILES["shop/job.py"]} if other else {})})
    hits = ask(view, "job.py:17: error: bad value of a job").hits
    assert ("named_place" in dict(hits[0].signals.boosts)) is not bool(other)


@pytest.mark.parametrize("text", ["error at shop/job.py:17", TRACE.format(root="", line=43)])
def test_filters_of_chunks_hold_for_places_too(view: Snapshot, text: str) -> None:
    assert ask(view, text, filters=Filters(symbol="no_such_name")).hits == ()
    assert {hit.chunk.path for hit in ask(view, text, filters=Filters(path_globs=("errors.md",))).hits} <= {"errors.md"}


def test_what_may_be_several_places_is_none_of_them(view: Snapshot) -> None:
    text = 'Traceback (most recent call last):\n  File "/srv/load.py", line 9, in step_0\nValueError: bad value\n'
    assert "in_trace" not in {name for hit in ask(view, text).hits for name, _ in hit.signals.boosts}


TOLD = """Starting a job fails with an error that the documentation names.

I think that the steps before it should check what they get, since step_5 adds to any value, whatever it is. Here is what I see:

"""


def test_a_person_who_tells_more_asks_for_what_to_change(view: Snapshot) -> None:
    found = ask(view, TOLD + TRACE.format(root="", line=43))
    assert "in_trace" not in {name for hit in found.hits for name, _ in hit.signals.boosts}
