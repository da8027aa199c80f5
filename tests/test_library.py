from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.shop import write_files
from tests.support.planner_models import Planner

import carrel
from carrel.model.conversation import Completion, Message
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.fakes import FakeChatModel, FakeEmbedder, FakeTokenizer, faulty
from carrel.model.native import CancelToken
from carrel.model.types import Budget, Filters, Query
from carrel.pack.compare import compare
from carrel.pack.formats import SourceForm
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking

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
    assert {
        "Answer",
        "ApproximateTokenizer",
        "BagOfWords",
        "Budget",
        "Chat",
        "Index",
        "Message",
        "Review",
        "SearchHit",
        "ask",
        "bag_of_words",
        "chat",
        "pick_files_by_grouped_chunk_hits",
        "review",
    } == names.keys() - {"__builtins__"}
    assert dir(carrel) == sorted(names.keys() - {"__builtins__"})
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


def test_a_hit_has_what_the_index_knows_of_its_chunk() -> None:
    """Spec A8: definitions, enclosing class, imports."""
    with carrel.Index() as index:
        methods = "".join(f"\n    def rule_{number}(self):\n        return {number} * self.price\n" for number in range(15))
        index.add_file("shop.py", f"import os\nfrom json import loads\n\n\nclass Order:\n    price = 1\n{methods}")
        [hit] = index.search("rule_7", k=1)
        assert (hit.definitions, hit.class_name, hit.imports) == (("rule_7",), "Order", ("os", "json"))


def test_the_context_keeps_its_budget_and_the_tool_its_form() -> None:
    with three() as index:
        pack = index.context("database pool", 200)
        assert pack.text.startswith('<rag_context>\n<code_context file="db/pool.py" lines="1-4"')
        assert len(pack.text) <= 200
        assert index.context("database pool", Budget(60, "tokens"), model="gpt-4o").tokens <= 60
        assert index.search_code("database pool", k=1).startswith("--- db/pool.py (lines 1-4, relevance: 0.")
        assert index.search_code("zzqx") == "No relevant code found."


def test_a_larger_budget_holds_more_places_unless_the_caller_says_how_many() -> None:
    with carrel.Index() as index:
        for name in "abcdefghijklmnopqrstuvwx":
            index.add_file(
                f"pools/{name}.py", f"def open_{name}_pool(size):\n    # Open a database pool.\n    return {name}.of(size)\n"
            )
        assert len(index.context("open a database pool").items) == 5
        assert len(index.context("open a database pool", Budget(8_000, "tokens")).items) > 15
        assert len(index.context("open a database pool", Budget(8_000, "tokens"), k=4).items) == 4


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


def test_lines_that_the_settings_ask_for_are_the_same_index(tmp_path: Path) -> None:
    text = "".join(f"value_{n} = compute_something({n})\n" for n in range(1, 61))
    root = write_files(
        tmp_path / "project", {"a.py": text, ".carrel.toml": 'chunking = "lines"\nchunkLines = 20\nchunkOverlap = 0\n'}
    )

    def places(index: carrel.Index) -> list[tuple[int, int]]:
        return sorted((hit.start_line, hit.end_line) for hit in index.search("compute_something", k=20))

    with carrel.Index(root) as index:
        assert len(index) == 0
        assert places(index) == [(1, 20), (21, 40), (41, 60)]
    with carrel.Index(root, line_chunks=(20, 0)) as same:
        assert len(same) == 2, "the settings file is one of them"
    with carrel.Index(root, line_chunks=(30, 0)) as other:
        assert len(other) == 0
        assert places(other) == [(1, 30), (31, 60)]
    with carrel.Index(root) as index:
        assert index.index().changed == 0, "the other index left this one alone"


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


def test_any_embedder_makes_an_index(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    with carrel.Index(embedder=embedder) as index:
        index.add_file("auth.py", AUTH)
        index.add_file("order.py", ORDER)
        assert index.search("authenticate_user name")[0].file_path == "auth.py"
        assert [kind for _, kind in embedder.requests] == ["document", "document", "query"]
        assert any("authenticate_user" in text for text in embedder.requests[0][0])
    root = tmp_path / "project"
    root.mkdir()
    (root / "auth.py").write_text(AUTH)
    with carrel.Index(root, embedder=embedder) as on_disk:
        assert on_disk.index_project().added == 1
        assert on_disk.search("authenticate_user")[0].file_path == "auth.py"


def test_a_text_that_can_not_be_embedded_is_not_added_and_questions_do_without() -> None:
    down = ProviderError("The service is down.", retryable=False)
    with carrel.Index(embedder=faulty(FakeEmbedder(), fail=down)) as index:
        with pytest.raises(ProviderError, match="down"):
            index.add_file("auth.py", AUTH)
        assert len(index) == 0
    with carrel.Index(embedder=faulty(FakeEmbedder(), fail=down, after=1)) as index:
        index.add_file("auth.py", AUTH)
        assert index.search("authenticate_user")[0].file_path == "auth.py"


def test_broken_characters_are_searched_for_as_marks() -> None:
    with three() as index:
        index.add_file("odd.py", f"half = '\ud83d'\n{AUTH}")
        assert index.search("authenticate_user \ud83d")[0].file_path in {"auth.py", "odd.py"}


def test_a_conversation_may_be_plain_data_and_one_that_is_wrong_is_named() -> None:
    turns = [{"role": "user", "text": "authenticate_user"}]
    with carrel.Index() as index:
        for path, text in (("auth.py", AUTH), ("order.py", ORDER), ("db/pool.py", POOL)):
            index.add_file(path, text)
        told = index.search("and who calls it?", k=1, history=[carrel.Message("user", "authenticate_user")])
        assert index.search("and who calls it?", k=1, history=turns) == told
        as_sent = [{"role": "user", "content": "authenticate_user"}]
        assert index.search("and who calls it?", k=1, history=as_sent) == told
        for wrong, field in (([{"role": "user", "words": "x"}], "history[0].text"), ("who", "history"), ([1], "history[0]")):
            for ask in (index.search, index.context):
                with pytest.raises(InvalidInput) as raised:
                    ask("and who calls it?", history=wrong)  # type: ignore[arg-type]
                assert raised.value.field == field


def test_a_planner_makes_a_follow_up_stand_alone() -> None:
    model = Planner({"rewrite": "authenticate_user"})
    history = (Message("user", "who may order?"), Message("assistant", "Whoever has an account."))
    with carrel.Index(planner=model) as index:
        for path, text in (("auth.py", AUTH), ("order.py", ORDER), ("db/pool.py", POOL)):
            index.add_file(path, text)
        assert index.search("and who checks that?", k=1, history=history)[0].file_path == "auth.py"
        assert "authenticate_user" in index.context("and who checks that?", k=1, history=history).text
        assert model.asked == ["rewrite"] * 2


async def test_a_search_goes_on_until_a_model_is_satisfied() -> None:
    def said(action: str) -> Completion:
        return Completion(
            json.dumps({"is_relevant": True, "is_sufficient": False, "action": action, "refined_query": "pool_size"})
        )

    with three() as index:
        found = index.search_assessed("how big is it?", FakeChatModel(said("refine_query"), said("answer")))
        assert (found.query, found.hits[0].chunk.path, found.gave_up) == ("pool_size", "db/pool.py", False)
        found = index.search_assessed("how big is it?", FakeChatModel(said("refine_query")), attempts=2)
        assert (len(found.attempts), found.gave_up) == (2, True)


def test_tokens_are_counted_as_the_caller_wants() -> None:
    with three() as index:
        budget = Budget(200, "tokens")
        by_ratio = index.context("database pool", budget, chars_per_token=2.0)
        assert (by_ratio.tokenizer, by_ratio.tokens) == ("approximate", math.ceil(len(by_ratio.text) / 2))
        same = index.context("database pool", budget, tokenizer=carrel.ApproximateTokenizer(2.0))
        assert same.text == by_ratio.text
        by_character = index.context("database pool", budget, tokenizer=FakeTokenizer())
        assert 0 < by_character.tokens == len(by_character.text) <= 200
        for ratio in (0, -1.0, math.nan):
            with pytest.raises(InvalidInput, match="chars_per_token"):
                index.context("database pool", chars_per_token=ratio)


def test_files_are_picked_by_their_chunks() -> None:
    with three() as index:
        files = carrel.pick_files_by_grouped_chunk_hits(None, index, "database pool configuration", n_files=2)
        assert files[0] == "db/pool.py"
        assert len(files) <= 2
        assert carrel.pick_files_by_grouped_chunk_hits(bundled(), index, "database pool configuration", n_files=2) == files
        folders = carrel.pick_files_by_grouped_chunk_hits(None, index, "database pool", file_key="folder")
        assert folders[0] == "db"
        with pytest.raises(InvalidInput, match="can't be compared with the index"):
            carrel.pick_files_by_grouped_chunk_hits(carrel.bag_of_words(), index, "database")


def test_words_are_compared_exactly() -> None:
    bag = carrel.BagOfWords()
    long = "  # 0123456789 0123456789 0123456789 0123456789\n"  # no word, but long enough to be a chunk
    bag.add_file("a.py", f"get_user get_user Name{long}")
    bag.add_file("b.py", f"name other{long}")
    bag.add_file("c.py", f"user 2fa get{long}")
    hits = bag.search("GET_USER name", k=9)
    # Counts (get_user 2, name 1) and (name 1, other 1) against (get_user 1, name 1).
    assert [hit.file_path for hit in hits] == ["a.py", "b.py"]
    assert [hit.score for hit in hits] == pytest.approx([3 / math.sqrt(5 * 2), 1 / math.sqrt(2 * 2)])
    assert (hits[0].start_line, hits[0].end_line) == (1, 1)
    assert bag.search("2fa") == bag.search("") == []
    (hit,) = bag.search("user get")
    assert (hit.file_path, round(hit.score, 9)) == ("c.py", 1.0)
    bag.add_file("c.py", f"nothing{long}")
    assert bag.search("user get") == []
    assert len(bag.search("name", k=1)) == 1


def test_a_small_folder_costs_no_more_in_chunks_than_whole() -> None:
    with three() as index:
        for question in ("database pool", "order user database class"):
            prepared = prepare_blocking(Query(question, limit=10), bundled())
            view = index._current().store.snapshot()
            both = compare(view, prepared, ExactTokenizer(), Budget(4_000, "tokens"), CancelToken())
            assert both.whole_files.files
            assert both.chunks.tokens <= both.whole_files.tokens


def test_a_text_that_cannot_be_searched_is_refused_and_the_earlier_one_stays() -> None:
    with carrel.Index() as index:
        index.add_file("a.py", "def total(order):\n    return sum(line.price for line in order.lines)\n")
        for content in ("x = 1  # a line\n" * 40_000, "var a=1;" * 20_000):
            with pytest.raises(InvalidInput, match="content: has more than 500,000 bytes, or is binary or minified"):
                index.add_file("a.py", content)
        assert index.search("total of an order", 1)[0].file_path == "a.py"


def test_no_values_of_metadata_allow_nothing() -> None:
    with carrel.Index() as index:
        index.add_file("a.py", "def total(order):\n    return sum(line.price for line in order.lines)\n")
        for key in ("language", "kind", "collection"):
            assert index.search("total", filters=Filters(metadata={key: []})) == []


def test_numbers_of_hits_that_make_no_sense_are_refused() -> None:
    with carrel.Index() as index:
        index.add_file("a.py", "def total(order):\n    return sum(line.price for line in order.lines)\n")
        for k in (-1, 2**64):
            with pytest.raises(InvalidInput, match="k: must be "):
                index.search("total", k)
        with pytest.raises(InvalidInput, match="n_files: must be 0 or more"):
            carrel.pick_files_by_grouped_chunk_hits(None, index, "total", n_files=-1)
