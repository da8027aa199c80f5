from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest
from tests.support.fakes import FakeChunk, FakeEmbedder, FakeView
from tests.support.texts import EMBEDDER, indexed

from carrel.model import native
from carrel.model.errors import Cancelled, InvalidInput
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, EditorContext
from carrel.model.types import Filters, Query
from carrel.question.prepare import SearchText, prepare_blocking
from carrel.question.query_words import read
from carrel.search.candidates import search
from carrel.search.explain import explain_line, explain_ranked
from carrel.search.files import pool, pool_query
from carrel.search.ranking import rank
from carrel.search.retriever import retrieve


def places(view: Any, text: str = "how is it stored", **query: Any) -> list[tuple[str, int]]:
    found = retrieve(view, prepare_blocking(Query(text, **query), FakeEmbedder()), CancelToken())
    return [(hit.chunk.path, hit.chunk.span.start_line) for hit in found.hits]


def test_a_chunk_that_both_searches_found_beats_one_that_only_one_found() -> None:
    view = FakeView(
        [
            FakeChunk("only_meaning.py", 1, "a\n", dense=0.6),
            FakeChunk("both.py", 1, "b\n", dense=0.5, lexical=0.5),
            FakeChunk("only_words.py", 1, "c\n", lexical=0.6),
        ]
    )
    assert places(view)[0] == ("both.py", 1)


def test_the_definition_of_a_named_symbol_comes_first() -> None:
    view = FakeView(
        [
            FakeChunk("uses.py", 1, "load_config()\n" * 3, dense=0.6, lexical=0.7),
            FakeChunk("defines.py", 1, "def load_config(): ...\n", "load_config", dense=0.4, lexical=0.5, defines=1.0),
        ]
    )
    assert places(view, "load_config")[0] == ("defines.py", 1)


@pytest.mark.parametrize(
    ("name", "first", "other"),
    [
        ("parcel_weigh", FakeChunk("a.c", 1, "a\n", "parcel_weigh", defines=1.0), FakeChunk("a.h", 1, "a\n", defines=1.0)),
        ("weigh!", FakeChunk("a.rb", 1, "a\n", "Scale.weigh!", defines=1.0), FakeChunk("b.rb", 1, "a\n", "weigh", defines=1.0)),
        ("weigh", FakeChunk("a.ts", 1, "a\n", "Scale", defines=1.0), FakeChunk("b.ts", 1, "a\n", "weighAll")),
    ],
)
def test_what_is_called_so_comes_before_what_declares_or_resembles_it(name: str, first: FakeChunk, other: FakeChunk) -> None:
    found = [dataclasses.replace(first, dense=0.1, lexical=0.1), dataclasses.replace(other, dense=0.9, lexical=0.9)]
    assert places(FakeView(found), name)[0][0] == first.path


def test_a_plain_word_of_several_names_keeps_its_order() -> None:
    chunks = [
        FakeChunk("type.rb", 1, "a\n", "Parser", dense=0.9, lexical=0.9, defines=0.8),
        FakeChunk("function.rb", 1, "a\n", "Pattern.parser", dense=0.1, lexical=0.1, defines=1.0),
    ]
    assert places(FakeView(chunks), "parser")[0][0] == "type.rb"


def test_a_word_alone_is_found_where_it_stands_before_other_forms_of_it_and_before_what_lacks_it() -> None:
    files = {
        "shop/fence.py": "def build_fence(garden):\n    return garden.enclose('against wombats')\n",
        "shop/wombat.py": "def wombat_food(wombat):\n    return wombat.wombat_food\n",
        "shop/animals.py": "def feed_marsupials(marsupial):\n    return marsupial.feed()\n",
    }
    hits = retrieve(indexed(files), prepare_blocking(Query("wombats"), EMBEDDER), CancelToken()).hits
    assert [hit.chunk.path for hit in hits] == ["shop/fence.py", "shop/wombat.py", "shop/animals.py"][: len(hits)]
    assert len(hits) > 1


def test_a_word_in_a_lock_file_does_not_come_before_code_that_holds_another_form() -> None:
    files = {
        "net.py": "class RetryPolicy:\n    def retry(self, call):\n        return call()\n",
        "package-lock.json": '{"name": "x", "description": "retries"}\n',
    }
    hits = retrieve(indexed(files), prepare_blocking(Query("retries"), EMBEDDER), CancelToken()).hits
    assert hits[0].chunk.path == "net.py"


def test_a_question_about_a_defined_name_that_is_a_common_word_is_answered() -> None:
    files = {"shop/store.py": "def find(items, key):\n    return items[key]\n"}
    asked = retrieve(indexed(files), prepare_blocking(Query("what does `find` do?"), EMBEDDER), CancelToken())
    assert [hit.chunk.symbol for hit in asked.answer] == ["find"]


def test_a_function_of_another_language_does_not_come_behind_a_stub_in_c() -> None:
    chunks = [
        FakeChunk("src/frob.py", 1, "a\n", "frobnicate", dense=0.5, lexical=0.9, defines=1.0),
        FakeChunk("tests/stub.c", 1, "a\n", "frobnicate", dense=0.1, lexical=0.1, defines=1.0),
    ]
    assert places(FakeView(chunks), "frobnicate")[0][0] == "src/frob.py"


def test_each_search_gives_five_candidates_for_each_hit_and_the_question_is_embedded_once() -> None:
    view, embedder = FakeView([FakeChunk("a.py", 1, "a\n", dense=0.5)]), FakeEmbedder()
    retrieve(view, prepare_blocking(Query("how", limit=20), embedder), CancelToken())  # type: ignore[arg-type]
    assert view.asked == {"search": 100}
    assert embedder.queries == ["how"]


def test_what_cannot_be_given_makes_room_for_the_next() -> None:
    view = FakeView(
        [
            FakeChunk("gone.py", 1, "", dense=0.9, lexical=0.9, gone="deleted"),
            FakeChunk("a.py", 1, "one\ntwo\n", dense=0.8, lexical=0.8),
            FakeChunk("b.py", 1, "b\n", dense=0.4),
        ]
    )
    found = retrieve(view, prepare_blocking(Query("q", limit=2), FakeEmbedder()), CancelToken())  # type: ignore[arg-type]
    assert [hit.chunk.path for hit in found.hits] == ["a.py", "b.py"]
    assert [(d.path, d.start_line, d.reason) for d in found.dropped] == [("gone.py", 1, "deleted")]


def test_relevance_says_how_good_a_hit_is_whatever_else_was_found() -> None:
    def best(*chunks: FakeChunk) -> float:
        view: Any = FakeView(list(chunks))
        return retrieve(view, prepare_blocking(Query("q"), FakeEmbedder()), CancelToken()).hits[0].score

    weak, strong = FakeChunk("a.py", 1, "a\n", dense=0.35, lexical=0.1), FakeChunk("b.py", 1, "b\n", dense=0.8, lexical=0.8)
    assert best(weak) < best(strong) <= 1
    assert best(strong) == best(strong, weak)


def test_hits_below_the_least_score_are_left_out() -> None:
    view = FakeView([FakeChunk("weak.py", 1, "a\n", dense=0.35), FakeChunk("good.py", 1, "b\n", dense=0.8, lexical=0.8)])
    assert places(view, filters=Filters(min_score=0.1)) == [("good.py", 1)]


def test_an_empty_question_finds_nothing_and_a_cancelled_one_raises() -> None:
    view = FakeView([FakeChunk("a.py", 1, "a\n", dense=0.8)])
    assert places(view, "  ") == []
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        retrieve(view, prepare_blocking(Query("q"), FakeEmbedder()), token)  # type: ignore[arg-type]


def test_files_are_ranked_by_the_sum_of_their_chunks() -> None:
    view: Any = FakeView(
        [
            FakeChunk("one.py", 1, "a\n", dense=0.6, lexical=0.3),
            FakeChunk("x/many.py", 1, "b\n", dense=0.55, lexical=0.25),
            FakeChunk("x/many.py", 9, "c\n", dense=0.5, lexical=0.2),
            FakeChunk("x/many.py", 19, "d\n", dense=0.45, lexical=0.15),
        ]
    )
    prepared = prepare_blocking(pool_query(Query("q"), 200), FakeEmbedder())

    def best(most: int = 5, key: str = "filename") -> list[str]:
        return [name for name, _ in pool(view, prepared, 200, CancelToken()).best(most, key)]

    assert best() == ["x/many.py", "one.py"]
    assert len(best(1)) == 1
    assert best(key="folder") == ["x", ""]
    with pytest.raises(InvalidInput, match="file_key"):
        best(key="colour")


def test_an_explanation_tells_what_became_of_a_chunk() -> None:
    view: Any = FakeView(
        [
            FakeChunk("a.py", 1, "one\ntwo\n", dense=0.8, lexical=0.8),
            FakeChunk("gone.py", 2, "two\nthree\n", dense=0.7, lexical=0.7, gone="deleted"),
            FakeChunk("far.py", 1, "z\n"),
            FakeChunk("b.py", 1, "b\n", dense=0.4),
        ]
    )

    def verdict(path: str, line: int, limit: int = 2, refusal: str | None = None) -> str:
        return explain_line(
            view, prepare_blocking(Query("q", limit=limit), FakeEmbedder()), path, line, CancelToken(), refusal=refusal
        )[0].verdict

    assert verdict("a.py", 1) == "given, as number 1"
    assert verdict("gone.py", 3) == "left out: deleted"
    assert "below the model's floor" in verdict("far.py", 1)
    assert "the best 1 were asked for" in verdict("b.py", 1, limit=1)
    assert "not in the index yet" in verdict("none.py", 1)
    assert verdict("a.py", 99).startswith("no chunk holds this line")
    assert "secret" in verdict(".env", 1, refusal="secret")
    found = retrieve(view, prepare_blocking(Query("q", limit=2), FakeEmbedder()), CancelToken())
    assert [e.verdict[:5] for e in explain_ranked(found)].count("given") == len(found.hits)


def test_the_best_of_a_pinned_file_comes_first_however_weak() -> None:
    view = FakeView([FakeChunk("a.py", 1, "a\n", dense=0.9, lexical=0.9), FakeChunk("notes.md", 1, "b\n", dense=0.1)])
    assert places(view) == [("a.py", 1)]
    assert places(view, pinned=("notes.md",))[0] == ("notes.md", 1)


def test_the_part_that_a_change_is_headed_with_comes_first() -> None:
    chunks = [
        FakeChunk("packages/server/link.py", 1, "a\n", dense=0.5, lexical=0.5),
        FakeChunk("packages/client/link.py", 1, "b\n", dense=0.45, lexical=0.45),
        FakeChunk("packages/client-side/link.py", 1, "c\n", dense=0.48, lexical=0.48),
    ]

    def first(text: str) -> str:
        view: Any = FakeView(chunks)
        ranked, asked = search(view, SearchText(read(text)), Query(text), 0.3, CancelToken())
        return rank(ranked, asked, EditorContext())[0].path

    assert first("links retry") == "packages/server/link.py"
    assert first("fix(client): links retry") == "packages/client/link.py"


def test_rules_can_be_left_out_one_by_one() -> None:
    def order(without: frozenset[str]) -> list[str]:
        view: Any = FakeView(
            [FakeChunk("tests/test_a.py", 1, "a\n", dense=0.5, lexical=0.5), FakeChunk("b.py", 1, "b\n", dense=0.4, lexical=0.4)]
        )
        question = read("how is it stored")
        ranked, asked = search(view, SearchText(question), Query(question.text), 0.3, CancelToken())
        return [r.path for r in rank(ranked, asked, EditorContext(), without=without)]

    assert order(frozenset()) == ["b.py", "tests/test_a.py"]
    assert order(frozenset({"path_penalty"})) == ["tests/test_a.py", "b.py"]


def test_what_uses_the_active_file_comes_before_its_equals() -> None:
    view = FakeView([FakeChunk("a.py", 1, "a\n", dense=0.5), FakeChunk("b.py", 1, "import active.py\n", dense=0.5)])
    assert places(view) == [("a.py", 1), ("b.py", 1)]
    assert places(view, active_path="active.py") == [("b.py", 1), ("a.py", 1)]


class Counted:
    """A snapshot that notes what it is asked."""

    def __init__(self, view: Any, calls: list[str]) -> None:
        self._view, self._calls = view, calls

    def __getattr__(self, name: str) -> Any:
        self._calls.append(name)
        return getattr(self._view, name)


def test_a_question_calls_the_index_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, rank = list[str](), native.rank

    def counted(*given: Any, **named: Any) -> Any:
        calls.append("rank")
        return rank(*given, **named)

    monkeypatch.setattr(native, "rank", counted)
    view = cast(
        "SnapshotView", Counted(indexed({"a.py": "def verify_password(user):\n    return check(user.password)\n"}), calls)
    )
    query = Query("where is the password checked", pinned=("a.py",), active_path="a.py")
    assert retrieve(view, prepare_blocking(query, EMBEDDER), CancelToken()).hits
    assert calls == ["find", "rank", "read_best"]


def test_a_word_alone_is_counted() -> None:
    files = {f"shop/{name}.py": f"def {name}():\n    return revoke({name})\n" for name in ("order", "basket", "ticket")}
    view = indexed(files | {"shop/other.py": "def other():\n    return 1\n"})
    counts = [
        retrieve(view, prepare_blocking(Query(text), EMBEDDER), CancelToken()).diagnostics.holding
        for text in ("revoke", "Revoked", "nowhere", "revoke an order")
    ]
    assert counts == [3, 3, 0, None]
