"""What a question takes from the conversation, and from the file and the lines in front; how its searches are joined."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.texts import EMBEDDER, indexed

from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted_blocking
from carrel.model.conversation import Message
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeEmbedder
from carrel.model.native import CancelToken
from carrel.model.ports import EmbeddingSpec
from carrel.model.types import Filters, Lines, Query
from carrel.model.vectors import Vectors
from carrel.question.follow_up import FollowUp, turns_read
from carrel.question.follow_up import read as read_question
from carrel.question.prepare import prepare
from carrel.search.certainty import GUESSES
from carrel.search.retriever import Retrieval, read

SAID = (
    Message("user", "How are failed payments tried again?"),
    Message("assistant", "`RetrySchedule` in `shop/retry_schedule.py` waits longer each time; `Ledger` counts."),
)


def follow(text: str, said: Sequence[Message] = SAID, **query: Any) -> FollowUp:
    return read_question(Query(text, **query), turns_read(said))


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("And how is that tested?", "And how is that tested? retry schedule"),
        ("Who calls it?", "Who calls `RetrySchedule`?"),
        ("and why?", "and why? retry schedule"),
        ("tell me more", "tell me more retry schedule"),
        ("and snake case?", "and snake case? retry schedule"),
        ("Which strategies are there?", "Which strategies are there? retry schedule"),
        ("Which file has the second one?", "Which file has the second one? ledger"),
        ("show me the fifth one", "show me the fifth one retry schedule"),
        ("what's that set to when nothing else is passed", "what's that set to when nothing else is passed retry schedule"),
        ("how does the client side do it", "how does the client side do it retry schedule"),
    ],
)
def test_a_question_that_leans_is_searched_for_with_the_name_that_it_means(text: str, searched: str) -> None:
    assert follow(text).text == searched


PLACES = (SAID[0], Message("assistant", "locale/de/messages.po:4-9\nshop/retry_schedule.py:1-20\nshop/ledger.py:3\nMakefile:2"))


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("And how is that tested?", "And how is that tested? failed payments tried again"),
        ("Who calls it?", "Who calls it? failed payments tried again"),
        ("Which file has the first one?", "Which file has the first one? retry schedule"),
    ],
)
def test_of_places_that_were_listed_without_a_word_only_a_position_says_which_is_meant(text: str, searched: str) -> None:
    assert follow(text, PLACES).text == searched


@pytest.mark.parametrize(
    "text",
    [
        "How does the progress bar draw itself?",
        "OK, thanks. Now where is the help text wrapped to the terminal width?",
        "and how are log files rotated and compressed?",
        "How does authentication of visitors work on phones?",
        "Where is isAction, which tells whether a value is an action?",
        "Does `parse_url` handle fragments too?",
        "where is option 3 of the installer menu drawn",
        "hello!",
        "thanks a lot!",
        "parse_args",
        "ORA-12154",
        "src/click/parser.py",
        "",
    ],
)
def test_a_question_that_says_enough_is_left_as_it_is(text: str) -> None:
    assert follow(text).text is None


WORDS = st.text(st.characters(codec="utf-8"), max_size=300)


@given(WORDS, WORDS, WORDS)
def test_a_question_keeps_its_words_and_takes_nothing_without_a_conversation(text: str, asked: str, answer: str) -> None:
    assert follow(text, ()) == FollowUp()
    found = follow(text, (Message("user", asked), Message("assistant", answer)))
    assert all(text.strip() in around for around in found.around.values())
    assert len(text.strip()) <= 200 or found == FollowUp()


@given(st.integers(0, 20))
def test_a_pronoun_leans_in_a_text_of_at_most_200_characters(count: int) -> None:
    text = f"{'waiting ' * count}it"
    assert follow(text).text is not None
    assert follow(f"{text}{' ' * 200}{'x' * 200}") == FollowUp()


@given(st.integers(1, 8))
def test_at_most_three_telling_words_lean_without_a_pronoun(count: int) -> None:
    text = " ".join(f"noun{'abcdefgh'[n]}" for n in range(count)) + " and how?"
    assert (follow(text).text is not None) == (count <= 3)


LISTED = """Three addons can answer a request themselves:

1. **`BlockList`** returns an empty response.
2. The onboarding page is served
   by an application of its own.
3. **`MapLocal`** serves pages from disk for matching addresses.
"""
TABLE = "| policy | picks |\n| --- | --- |\n| `random` | any host |\n| `cookie` | sticky sessions |\n"
ASKED = Message("user", "which addons can answer a request")


@pytest.mark.parametrize(
    ("text", "answer", "words"),
    [
        ("show me the third one", LISTED, "map local serves pages disk matching addresses"),
        ("explain the last one", LISTED, "map local serves pages disk matching addresses"),
        ("walk me through the second step", LISTED, "onboarding page served"),
        ("can I force number 3?", LISTED, "map local serves pages disk matching addresses"),
        ("show me the sixth one", LISTED, "block list"),
        ("how does the last one work?", TABLE, "cookie sticky sessions"),
        ("and the latter?", "`Clock` counts for a `Sleeper`.", "sleeper"),
        ("what does the last one do", "It calls `alpha_one`, then `beta_two`, then `gamma_three`.", "gamma three"),
        ("show me the second one", "1. `alpha`\n   - it reads `HTTP_PROXY`\n   - `ALL`\n2. `wrap_it`\n", "wrap it"),
        ("show me the second one", "```yaml\n- run: one\n- run: two\n```\n\n* `alpha_one`\n* `beta_two`\n", "beta two"),
        ("and why?", "It calls `fold`.", "fold addons answer request"),
        ("and why?", "See lib/shop/flow_reader.rb:6-22.", "flow reader"),
        ("and why?", "Not at all.", "addons answer request"),
    ],
)
def test_what_is_meant_stands_in_a_list_a_table_or_first(text: str, answer: str, words: str) -> None:
    assert follow(text, (ASKED, Message("assistant", answer))).text == f"{text} {words}"


@pytest.mark.parametrize(
    ("text", "searched"),
    [("who calls the first one?", "who calls `BlockList`?"), ("and who creates it?", "and who creates `BlockList`?")],
)
def test_users_are_asked_for_by_the_name_as_it_is_written(text: str, searched: str) -> None:
    found = follow(text, (ASKED, Message("assistant", LISTED)))
    assert (found.text, found.wants_users) == (searched, True)


def test_an_answer_of_any_form_is_read_in_time() -> None:
    lines = ["- " * 50_000, "|" * 100_000, "`a" * 50_000, "`" + "a_" * 50_000, "| x " * 30_000, "1. " * 30_000, "```\n" * 30_000]
    began = time.perf_counter()
    for line in lines:
        for text in ("show me the second one", "who uses that module?"):
            follow(text, (ASKED, Message("assistant", f"{line}\n{line}")))
    assert time.perf_counter() - began < 10, "a long answer is read in part, in linear time"


def test_context_before_an_earlier_question_and_blocks_of_code_are_not_read() -> None:
    sent = "<rag_context>`Other` alpha</rag_context> how are letters sent?\n```py\nvalue = `other_value`\n```"
    found = follow("can I turn that off", (Message("user", sent), Message("assistant", "Not at all.")))
    assert found.text == "can I turn that off letters sent"
    assert found.around == {"question": "how are letters sent? can I turn that off"}


def test_the_newest_turn_that_names_something_says_what_is_spoken_of() -> None:
    newer = (*SAID, Message("user", "thanks"), Message("tool", "`Other`"), Message("assistant", "Gladly."))
    assert follow("and why?", newer).text == "and why? retry schedule"
    assert follow("and why?", (*newer, Message("assistant", "`TaxTable` of `shop/tax.py`."))).text == "and why? tax table"


def test_an_answer_that_quotes_words_alone_is_about_what_its_question_named() -> None:
    asked = Message("user", "how does send_letter reach the readers?")
    assert follow("and why?", (asked, Message("assistant", "It gives `text` to `to`."))).text == "and why? send letter"
    assert follow("and why?", (asked, Message("assistant", "`Mailer` takes the `text`."))).text == "and why? mailer"


def test_a_question_in_a_conversation_is_searched_for_with_names_and_with_the_question_before() -> None:
    names, before = "RetrySchedule Ledger", "How are failed payments tried again?"
    for asked in ("And how is that tested?", "how does one cancel an order by hand"):  # it may be a follow-up or not
        assert follow(asked).around == {"names": f"{asked} {names}", "question": f"{before} {asked}"}


def test_the_question_before_is_the_newest_that_says_what_it_is_about() -> None:
    said = (*SAID, Message("user", "and why?"), Message("assistant", "Since banks are slow."))
    assert follow("who decided that?", said).around["question"].startswith("How are failed payments tried again?")
    assert follow("who decided that?", (Message("assistant", "Hello."),)) == FollowUp()


@pytest.mark.parametrize("text", ["Ledger.total", "`send_letter()`", "thanks!", "how are letters sent? " * 20, ""])
def test_an_identifier_a_greeting_or_a_long_text_is_searched_for_by_itself(text: str) -> None:
    assert follow(text) == FollowUp()


def test_what_is_in_front_is_searched_for_without_the_conversation() -> None:
    assert follow("what does this file do?", active_path="shop/tax.py").around == {}
    assert follow("where is an order charged for?", active_path="shop/tax.py").around != {}


def test_names_and_questions_of_any_length_are_cut() -> None:
    names = " ".join(f"`some_name_{n}`" for n in range(5_000))
    found = follow("and why?", (Message("user", "why is it so " * 5_000), Message("assistant", names)))
    assert all(len(text) < 800 for text in found.around.values())


@pytest.mark.parametrize("text", ["zzqq xyzzy blorp florp quux?", "is that right?", "what is wrong with it?"])
def test_a_text_that_says_nothing_by_itself_gets_the_places_that_were_spoken_of(text: str) -> None:
    found = ask(Query(text), SAID)
    assert found.answer[0].chunk.path == "shop/retry_schedule.py"
    assert len(found.answer) <= GUESSES
    assert found.wanted == (), "nothing is added to what nobody asked for"
    assert ask(Query(text), ()).answer == ()


class Remote(FakeEmbedder):
    """A model elsewhere that takes no text with a word in it."""

    async def embed(self, texts: Sequence[str], kind: Literal["document", "query"]) -> Vectors:
        if any("payments" in text for text in texts):
            raise ProviderError("The text was refused", retryable=False)
        return await super().embed(texts, kind)


async def test_a_remote_model_that_refuses_the_conversation_still_embeds_the_question() -> None:
    said = (*SAID, Message("user", "\ud83d why?"), Message("assistant", "So."))
    remote = Remote(EmbeddingSpec("fake", 32, leaves_machine=True))
    prepared = await prepare(Query("how does one cancel an order by hand"), remote, history=said)
    assert prepared.problem is None
    assert list(prepared.texts) == [""]
    assert prepared.texts[""].vector


FILES = {
    "shop/retry_schedule.py": """
class RetrySchedule:
    '''Wait longer before each try of a payment.'''

    def next_pause(self):
        return self.pause * 2
""",
    "shop/checkout.py": """
from shop.retry_schedule import RetrySchedule

def pay(card):
    schedule = RetrySchedule()
    return schedule.next_pause()
""",
    "tests/test_retry_schedule.py": """
from shop.retry_schedule import RetrySchedule

def test_pauses_grow():
    assert RetrySchedule().next_pause() == 2
""",
    "tests/test_tax.py": """
def test_tax_is_tested():
    assert how_is_tax_tested() == 1
""",
    "shop/tax.py": """
def tax_of(order):
    '''Add the tax of an order.'''
    return order.total * 0.2


def tax_name(order):
    '''Name the tax of an order on the bill.'''
    return f"VAT {order.land}"


class Till:
    '''Take the money.'''

    def charge(self, order):
        '''Take what an order costs.'''
        return tax_of(order)
""",
}


def ask(query: Query, history: tuple[Message, ...] = ()) -> Retrieval:
    view = indexed(FILES)
    return retrieve_assisted_blocking(
        Question(query, history),
        lambda: view,
        EMBEDDER,
        ALONE,
        lambda ranking, token: read(ranking, ranking.query, token),
        CancelToken(),
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("And how is that tested?", "tests/test_retry_schedule.py"),
        ("Who calls it?", "shop/checkout.py"),
        ("How long does it wait before each try?", "shop/retry_schedule.py"),
        ("Where is the tax of an order added up?", "shop/tax.py"),
    ],
)
def test_a_follow_up_is_answered_by_what_was_said(text: str, path: str) -> None:
    found = ask(Query(text), SAID)
    assert found.hits[0].chunk.path == path


def test_a_follow_up_that_is_not_taken_for_one_still_finds_what_was_spoken_of() -> None:
    asked = Query("where's the pause doubled until everything was charged for")
    assert follow(asked.text).text is None
    alone, found = ask(asked), ask(asked, SAID)
    assert alone.hits[0].chunk.path != "shop/retry_schedule.py"
    assert found.hits[0].chunk.path == "shop/retry_schedule.py"
    assert found.confidence > alone.confidence


def test_words_that_stand_somewhere_as_they_are_are_found_whatever_was_spoken_of() -> None:
    asked = Query("where does Name the tax of an order on the bill come from?")
    assert [hit.chunk.id for hit in ask(asked, SAID).hits] == [hit.chunk.id for hit in ask(asked).hits]


@pytest.mark.parametrize(("text", "stands"), [("where is tax named?", True), ("what about wombats?", False)])
def test_a_short_question_leans_on_the_conversation_where_its_own_words_find_nothing(text: str, stands: bool) -> None:
    assert follow(text).is_short_alone
    found = ask(Query(text), SAID)
    assert (found.diagnostics.rewritten is None, found.hits[0].chunk.path == "shop/tax.py") == (stands, stands)
    assert stands or found.hits[0].chunk.path == "shop/retry_schedule.py"


def test_a_filter_holds_for_what_the_conversation_finds() -> None:
    found = ask(Query("And how is that tested?", filters=Filters(path_globs=("shop/**",))), SAID)
    assert found.hits
    assert all(hit.chunk.path.startswith("shop/") for hit in found.hits)


def test_scores_fall_where_searches_are_joined() -> None:
    order = ask(Query("how is the money for it taken", 20), SAID).order
    scores = [place.score for place in order.places]
    assert scores == sorted(scores, reverse=True)
    assert len({found.doc for found in order.ranked}) == len(order.ranked)


def test_a_question_about_the_file_in_front_is_answered_from_it() -> None:
    found = ask(Query("What does this file do?", active_path="shop/tax.py"), SAID)
    assert {hit.chunk.path for hit in found.hits[:2]} == {"shop/tax.py"}
    assert ask(Query("where are the tests for this file?", active_path="shop/retry_schedule.py")).hits[0].chunk.path == (
        "tests/test_retry_schedule.py"
    )


def test_selected_lines_are_what_this_function_means() -> None:
    asked = Query("explain this function", active_path="shop/tax.py", selection=Lines("shop/tax.py", 7, 9))
    found = ask(asked)
    assert found.hits[0].chunk.symbol == "tax_name"
    places = [(hit.chunk.path, hit.chunk.span) for hit in found.hits]
    assert len(places) == len(set(places))


def test_what_is_in_front_says_nothing_to_a_question_with_a_subject() -> None:
    assert follow("How does the checkout pay by card?", (), active_path="shop/tax.py") == FollowUp()


@pytest.mark.parametrize(
    ("text", "line", "searched"),
    [
        ("explain this function", 9, "explain this function tax name"),
        ("what does this method return?", 17, "what does this method return? charge"),
        ("how does this class work?", 17, "how does this class work? till"),
        ("who calls this method?", 17, "who calls `charge`?"),
        ("what does this file do?", 9, "what does this file do? tax"),
    ],
)
def test_this_function_is_searched_for_by_its_name(text: str, line: int, searched: str) -> None:
    found = ask(Query(text, active_path="shop/tax.py", selection=Lines("shop/tax.py", line, line)))
    assert found.diagnostics.rewritten == searched
