"""Is there anything here at all?"""

from __future__ import annotations

import pytest
from tests.question.test_follow_up import FILES
from tests.support.texts import ask, indexed

from carrel.question.query_words import is_small_talk
from carrel.search.certainty import FLOOR, GUESSES, OF_A_TRACE, UNSURE, is_enough

VIEW = indexed(
    {
        **FILES,
        **{
            f"shop/part_{number}.py": f"def step_{number}(order):\n    '''Do step {number} of an order.'''\n    return order\n"
            for number in range(20)
        },
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "RetrySchedule",
        "tax_name",
        "where is the tax of an order added?",
        "Name the tax of an order on the bill",
    ],
)
def test_what_is_there_is_given(text: str) -> None:
    found = ask(VIEW, text)
    assert found.confidence > 0.3
    assert found.answer == found.wanted == found.hits != ()


def test_who_asks_gets_the_nearest_places_where_nothing_is_sure() -> None:
    found = ask(VIEW, "how long does it wait before the next try?", limit=10)
    assert found.confidence < UNSURE
    assert found.answer[0].chunk.path == "shop/retry_schedule.py"
    assert len(found.answer) <= GUESSES < len(found.hits)


@pytest.mark.parametrize("word", ["order", "tax", "help"])
def test_a_word_that_stands_in_the_index_is_never_answered_by_nothing(word: str) -> None:
    view = indexed({**FILES, "shop/usage.py": "def usage():\n    print('help')\n"})
    assert ask(view, word).answer, word


def test_every_use_of_a_word_with_few_is_given() -> None:
    uses = {f"shop/caller_{number}.py": f"def caller_{number}():\n    print('wombat')\n" for number in range(7)}
    found = ask(indexed({**FILES, **uses}), "wombat", limit=10)
    assert {hit.chunk.path for hit in found.answer} == set(uses)


@pytest.mark.parametrize(
    "comment", ["खाता फिर से जांचें", "ตรวจสอบบัญชีอีกครั้ง", "حساب را دوباره بررسی کن", "קחו את החשבון", "கணக்கை மீண்டும் சரிபார்"]
)
def test_a_comment_in_any_script_is_found_by_its_words(comment: str) -> None:
    view = indexed({**FILES, "shop/account.py": f"# {comment}\ndef recheck_account(account):\n    return account.balance\n"})
    for text in (comment, comment.split(maxsplit=1)[0]):
        assert ask(view, text).answer[0].chunk.path == "shop/account.py"


def test_a_sentence_of_common_words_that_the_code_writes_is_found() -> None:
    view = indexed({**FILES, "shop/prompt.py": "def prompt():\n    raise Login('Who are you?')\n"})
    assert ask(view, "Who are you?").answer[0].chunk.path == "shop/prompt.py"


@pytest.mark.parametrize(
    "text",
    [
        "hello!",
        "Thanks a lot, that helped",
        "ok",
        "what can you do?",
        "are you there?",
        "asdfasdf",
        "who painted the Mona Lisa",
        "AbstractBeanFactoryLocator",
        "",
    ],
)
def test_nothing_is_given_where_nothing_answers(text: str) -> None:
    found = ask(VIEW, text)
    assert found.confidence < FLOOR
    assert found.wanted == ()


def test_the_file_in_front_is_there_whatever_is_asked_of_it() -> None:
    assert ask(VIEW, "what is this file for?", active_path="shop/part_3.py").confidence == 1.0


@pytest.mark.parametrize(("text", "places"), [("hello", 1), ("hello!", 0), ("thanks.", 0), ("ok?", 0)])
def test_a_bare_word_is_sought_and_a_greeting_is_not(text: str, places: int) -> None:
    view = indexed(
        {**FILES, "shop/notes.md": "# Notes\n\nSay hello and thanks to whoever comes; ok is no answer to a customer.\n"}
    )
    assert len(ask(view, text).answer) == places


def test_a_word_of_greetings_that_the_project_defines_can_be_found() -> None:
    view = indexed({**FILES, "shop/greeting.py": "def hello(name):\n    return f'Hello {name}'\n"})
    assert is_enough(ask(view, "hello").confidence)


@pytest.mark.parametrize("text", ["can you help me?", "help"])
def test_small_talk_brings_nothing_unasked(text: str) -> None:
    usage = "def help():\n    # The parts are going to the tie that holds them; go through each.\n    return None\n"
    view = indexed({**FILES, "shop/usage.py": usage})
    assert ask(view, text).wanted == ()
    assert ask(view, "help").answer[0].chunk.path == "shop/usage.py"


@pytest.mark.parametrize("text", ["hi", "Good morning!", "thank you very much", "ok, see you tomorrow"])
def test_greetings_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize("text", ["say hello to the server", "this", "", "tell me what the parser does", "ok_button"])
def test_a_text_with_another_word_is_none(text: str) -> None:
    assert not is_small_talk(text)


TRACE = """Traceback (most recent call last):
  File "/usr/bin/{package}", line 12, in <module>
    sys.exit(main())
  File "/opt/venv/lib/python3.11/site-packages/{package}/part_7.py", line 3, in {function}
    return index["confd"]["x1"]
KeyError: 'confd'
"""


def test_a_trace_through_the_code_is_answered_whatever_its_words_say() -> None:
    assert ask(VIEW, TRACE.format(package="shop", function="step_7")).confidence >= OF_A_TRACE
    for package, function in (("market", "step_7"), ("shop", "step_8")):
        assert ask(VIEW, TRACE.format(package=package, function=function)).confidence < OF_A_TRACE
