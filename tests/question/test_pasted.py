"""The message is taken out of what people paste, and questions are left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.question.pasted import message_in

MESSAGE = "Could not open state.db: 3 pages are locked"


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "2026-03-02 12:01:22,345 ERROR [worker-3] {}",
        "2026-03-02T12:01:22Z WARN (main) {}",
        "[E 26/03/02 12:01:22] {}",
        "Mar  2 12:01:22 host app: ERROR {}",
        "RuntimeError: {}",
        "error: {}",
        "error[E0308]: {}",
        "shop.errors.StoreError: {}",
        "E       ValueError: {}",
        "Caused by: java.lang.IllegalStateException: {}",
        'Exception in thread "main" java.lang.RuntimeException: {}',
        "thread 'main' panicked at src/main.rs:10:5: {}",
        "src/store/open.c:310:7: error: {}",
        "fatal: {}",
        "why do I get '{}'?",
        "what does “{}” mean",
        'where is "{}" logged',
        "{} - what does that mean?",
        "{}. Any idea?",
        "I see {} when I start it",
        "What is this error: {}",
        "Find the line that logs {}",
        "ERROR:shop.store: {}",
        "worker ERROR: {}",
        "I0302 12:01:22.123456 1234 open.cc:33] {}",
        "PHP Fatal error:  Uncaught StoreException: {}",
        "Mon, 02 Mar 2026 12:01:22 {}",
        "why do I keep getting the error {}",
    ],
)
def test_what_is_around_a_message_is_left_out(line: str) -> None:
    assert message_in(line.format(MESSAGE)) == MESSAGE


@pytest.mark.parametrize(
    "text",
    [
        "No space left on this device",
        "cannot find user 'ana' in realm blue",
        "Update failed for customer 7",
        "Monitor 3 disconnected at 12:01:22 by operator ana",
        "Decoding stalled at 12:30 for stream blue",
        "Unexpected ERROR reply 7 from shard blue",
        "Sign-in failed for ana. Please reset the secret phrase",
    ],
)
def test_a_message_needs_no_surroundings(text: str) -> None:
    assert message_in(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "How does the retry work?",
        "where is the connection opened",
        "Where does getUserByID check the cache?",
        "Is `max_size` used in tests?",
        "Add a retry to the uploader",
        "Fix the crash on an empty basket",
        "what does 'open' do",
        "error handling",
        "RuntimeError: no",
    ],
)
def test_questions_and_requests_are_no_messages(text: str) -> None:
    assert message_in(text) == ""


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert message_in(text) in text


@pytest.mark.parametrize(
    "part",
    [
        *("[", "a.", "I see ", "'", '"a ', "error: ", "2026-03-02 ", " - what", "E  ", "x:1:", "the ", "| ", "\u201ca"),
        *("Mar 2 ", "Mon ", "find the ", "ERROR:a", "a - ", "PHP a ", "level=a ", ',"ts":1', 'msg="'),
    ],
)
def test_time_does_not_explode(part: str) -> None:
    began = time.process_time()
    message_in(part * 2000)
    assert time.process_time() - began < 0.2
