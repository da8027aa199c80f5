from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.agent.window import Window
from carrel.model.conversation import Completion, Message, ToolCall, ToolSpec
from carrel.providers.tokenizers import ExactTokenizer

TOKENS = ExactTokenizer()
OPENING = [Message("system", "You review."), Message("user", "An issue.")]
TOOL = ToolSpec("search_code", "Finds code.", {"type": "object"})
TEXT = st.builds(
    lambda word, times: word * times, st.sampled_from(["word ", "x", "é中😀", "\ud83d", "{}[] "]), st.integers(0, 900)
)
CALLS = st.lists(st.tuples(st.integers(1, 40), TEXT), max_size=6)


def size(messages: Sequence[Message]) -> int:
    """What is sent, without the forms that providers put around it."""
    texts = [
        m.text + m.call_id + "".join(c.name + c.id + json.dumps(dict(c.arguments), ensure_ascii=False) for c in m.calls)
        for m in messages
    ]
    return sum(TOKENS.count(text.encode("utf-8", "replace").decode()) for text in texts)


@settings(max_examples=60, deadline=None)
@given(st.integers(900, 4_000), st.lists(st.tuples(TEXT, CALLS, TEXT), max_size=6))
def test_what_is_sent_never_exceeds_the_limit(limit: int, rounds: list[tuple[str, list[tuple[int, str]], str]]) -> None:
    window = Window(OPENING, [TOOL], limit, TOKENS)
    for text, calls, result in rounds:
        said = Completion(text, tuple(ToolCall(f"{n:x}" * length, "f", {"q": q}) for n, (length, q) in enumerate(calls)))
        for call in window.record_response(said).calls:
            window.answer(call, result, "a note of it")
        if not calls:
            window.say(result)
        messages = window.messages()
        assert messages[:2] == OPENING
        assert size(messages) <= window.largest <= limit
        open_calls = [call.id for message in messages for call in message.calls]
        assert [message.call_id for message in messages if message.role == "tool"] == open_calls


def test_the_newest_result_stands_whole_while_older_ones_become_notes() -> None:
    window = Window(OPENING, [TOOL], 1_000, TOKENS)
    for n in range(4):
        (call,) = window.record_response(Completion("", (ToolCall(f"c{n}", "search_code", {"query": f"q{n}"}),))).calls
        window.answer(call, f"result {n} " + "word " * 380, f"note {n}")
        sent = [message.text for message in window.messages() if message.role == "tool"]
    assert [" ".join(text.split()[:2]) for text in sent] == ["note 0", "note 1", "result 2", "result 3"]
    assert len(sent[-1]) > 1_900
