"""Questions about who calls, uses, extends or defines a name, and what one calls."""

from __future__ import annotations

import pytest
from tests.sources.test_passages import packed
from tests.support.texts import EMBEDDER, indexed

from carrel.model.native import CancelToken
from carrel.model.types import Filters, Lines, Query
from carrel.question.prepare import prepare_blocking
from carrel.search.name_relations import NameQuestion, read, related_first
from carrel.search.retriever import find
from carrel.search.retriever import read as read_hits

USERS = {
    f"user_{n}.py": f"def worker_{n}(job):\n    state = {n}\n    run_lease(job, state)\n    return state\n" for n in range(3)
}
FILES = {
    "lease.py": "def run_lease(job, state):\n    check_holder(job)\n    return mark_done(job)\n",
    "holder.py": 'def check_holder(job):\n    if not job.holder:\n        raise LookupError("nobody holds it")\n',
    "done.py": "def mark_done(job):\n    job.done = True\n    return job\n",
    "api.py": "from lease import run_lease\n\n\ndef unrelated(job):\n    return job.name\n",
    "about.md": "# Calls\n\nWho calls `run_lease`: the workers call run_lease for each job.\n",
    "shape.py": "class Shape:\n    def area(self):\n        raise NotImplementedError\n",
    "square.py": "class Square(Shape):\n    def area(self):\n        return self.side ** 2\n",
    **USERS,
}


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("who calls run_lease?", NameQuestion("users", "run_lease")),
        ("Where is `Lease.run` called", NameQuestion("users", "run")),
        ("callers of empty and why", NameQuestion("users", "empty")),
        ("which functions use the function crypto::seal()", NameQuestion("users", "seal")),
        ("who calls it", None),
        ("and what else uses `run_lease`?", NameQuestion("users", "run_lease")),
        ("and who calls `Lease#run!`?", NameQuestion("users", "run!")),
        ("Who uses `Lease` while writing?", NameQuestion("users", "Lease")),
        ("who calls it when a job ends in Lease", None),
        ("who calls the latter", None),
        ("where is the request created", None),
        ("who creates and closes Session", None),
        ("ok, and who creates `Lease`?", NameQuestion("users", "Lease")),
        ("which classes implement Store", NameQuestion("heirs", "Store")),
        ("who overrides Shape.area", NameQuestion("definitions", "area")),
        ("what does run_lease call?", NameQuestion("callees", "run_lease")),
        ("which override rule applies to a dependency", None),
        ("how is the cache used", None),
        ("what happens when run_lease calls nobody", None),
        pytest.param("callers of run_lease" + ".it" * 20_000, None, id="a long text, which the forms would read for seconds"),
    ],
)
def test_the_form_of_a_question_says_what_is_asked_of_a_name(text: str, asked: NameQuestion | None) -> None:
    assert read(text) == asked


def test_the_lines_of_callers_come_first_and_the_definition_is_there() -> None:
    view = indexed(FILES)
    result, found = packed(view, "who calls run_lease", 1_000, limit=4)
    places = [item.hit.chunk.path for item in result.items]
    assert {*places[:4]} == {*USERS, found.hits[0].chunk.path}
    assert result.text.count("run_lease(job, state)\n    return state") == 3
    assert [item.hit.score for item in result.items] == sorted((item.hit.score for item in result.items), reverse=True)


def test_callers_come_before_other_definitions_of_the_name_and_tests_however_many_there_are() -> None:
    others = {
        f"kind_{n}.py": f"class Kind{n}:\n    def attune(self, context):\n        self.inner.attune(context)\n" for n in range(60)
    }
    tests = {f"tests/test_{n}.py": f"def test_{n}(context):\n    made = Kind{n}()\n    made.attune(context)\n" for n in range(60)}
    filler = {f"note_{n}.py": f"def note_{n}(page):\n    page.write('line {n}')\n    return page\n" for n in range(200)}
    steps = "".join(f"    step_{n} = module.part_{n}\n" for n in range(40))
    loader = {"loader.py": f"def load(module, context):\n{steps}    module.attune(context)\n    return module\n"}
    view = indexed({"about.md": "# Kinds\n\nCall `kind.attune(context)` once.\n", **others, **tests, **filler, **loader})
    query, token = Query("who calls attune", limit=100), CancelToken()
    ranking = find(view, prepare_blocking(query, EMBEDDER), token)
    found = related_first(read_hits(ranking, query, token), ranking, query, token)
    paths = [hit.chunk.path for hit in found.hits]
    assert paths[0] == "loader.py"
    assert {path.partition("_")[0] for path in paths[1:61]} == {"kind"}
    assert paths[61] == "about.md"


def test_a_search_lists_callers_before_what_only_says_the_name() -> None:
    view = indexed(FILES)
    query, token = Query("who calls run_lease", limit=4), CancelToken()
    ranking = find(view, prepare_blocking(query, EMBEDDER), token)
    found = related_first(read_hits(ranking, query, token), ranking, query, token)
    assert {hit.chunk.path for hit in found.hits[:3]} == set(USERS)
    assert len(found.hits) == 4
    assert len({hit.chunk.id for hit in found.hits}) == 4
    first = found.hits[0]
    assert first.focus is not None
    start, end = (line - first.chunk.span.start_line for line in first.focus)
    assert any("run_lease(job, state)" in line for line in first.chunk.text.splitlines()[start : end + 1])
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    other = Query("how is a job marked as done", limit=4)
    ranking = find(view, prepare_blocking(other, EMBEDDER), token)
    plain = read_hits(ranking, other, token)
    assert related_first(plain, ranking, other, token) is plain


def test_what_a_name_calls_is_shown_by_its_definitions() -> None:
    result, _ = packed(indexed(FILES), "what does run_lease call?", 2_000, limit=3)
    assert [item.hit.chunk.path for item in result.items] == ["lease.py", "holder.py", "done.py"]


def test_what_extends_or_overrides_a_name_is_shown() -> None:
    view = indexed(FILES)
    heirs, _ = packed(view, "which classes extend Shape", 1_000, limit=2)
    assert "class Square(Shape):" in heirs.text
    overrides, _ = packed(view, "who overrides area", 1_000, limit=2)
    assert {item.hit.chunk.path for item in overrides.items} == {"shape.py", "square.py"}


def test_a_type_that_go_asserts_to_implement_an_interface_is_one_that_does() -> None:
    memory = (
        "package store\n\n// Memory keeps all.\ntype Memory struct {\n\tkept map[string]int\n}\n\nvar _ Store = (*Memory)(nil)\n"
    )
    returns = "package store\n\nfunc open(path string) (Store, error) {\n\t_ = path\n\treturn nil, nil\n}\n"
    view = indexed(
        {
            "store.go": "package store\n\ntype Store interface {\n\tGet(key string) int\n}\n",
            "memory.go": memory,
            "open.go": returns,
            "file.go": "package store\n\n// File keeps all on disk.\nvar (\n\t_ Store = (*File)(nil)\n)\n",
        }
    )
    result, _ = packed(view, "what implements Store?", 1_000, limit=3)
    assert "var _ Store = (*Memory)(nil)" in result.text
    assert "_ Store = (*File)(nil)" in result.text
    assert "_ = path" not in result.text


def test_a_name_that_nothing_defines_is_searched_for_as_words() -> None:
    view = indexed({**USERS, "about.md": FILES["about.md"]})
    question = "who calls run_lease"
    result, found = packed(view, question, 1_000, limit=2)
    assert result.items[0].hit.chunk.path == found.hits[0].chunk.path


def test_nothing_that_was_filtered_or_left_out_is_shown() -> None:
    view = indexed(FILES)
    chosen = {"filters": Filters(exclude=("user_0.py",)), "left_out": (Lines("user_1.py", 1, 4),)}
    for question in ("who calls run_lease", "who defines worker_0"):
        result, _ = packed(view, question, 2_000, **chosen)
        assert not {"user_0.py", "user_1.py"} & {item.hit.chunk.path for item in result.items}
