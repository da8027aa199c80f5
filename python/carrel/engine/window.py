"""A conversation with a chat model that stays below a number of tokens, however long it goes on.

The opening stays as it is. Of what came later the oldest gives way first: a tool's result to a note of what it held, then
whole rounds (what the model said, and the results that answer it: providers refuse a call without its result). What
enters is cut to a part of the budget, so that the newest round always fits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from carrel.core.conversation import Completion, Message, ToolCall, ToolSpec
from carrel.core.ports import Tokenizer
from carrel.core.structs import whole_characters

MESSAGE_TOKENS = 8
"""What a message or a call costs beside its text, in the forms that providers make of it: more than any needs."""
MOST_CALLS = 4
"""Of a model's calls in one turn so many count; the others were never made."""
_NOTHING_LEFT = "(cut)"
_LONGEST_NAME = 200
"""Characters of a call's name and id together."""
_LONGEST_TEXT = 100_000
"""Characters that are looked at at all: counting tokens takes time."""


@dataclass(slots=True)
class _Entry:
    message: Message
    tokens: int
    note: str | None = None  # what may stand in its place


class Window:
    """The messages of one conversation."""

    def __init__(self, opening: Sequence[Message], tools: Sequence[ToolSpec], limit: int, tokenizer: Tokenizer) -> None:
        """`limit` counts everything that is sent with a request: messages, calls and the tools' descriptions."""
        self._tokenizer = tokenizer
        self._limit = limit
        self._opening = [self._entry(message) for message in opening]
        self._rounds: list[list[_Entry]] = []
        fixed = sum(entry.tokens for entry in self._opening) + sum(self._tool_tokens(tool) for tool in tools)
        self.budget = max(0, limit - fixed)
        self.largest = 0
        """Tokens of the longest request so far."""
        self._fixed = fixed

    def messages(self) -> list[Message]:
        """Return what to send now, within the limit."""
        self._shrink()
        self.largest = max(self.largest, self._fixed + self._spent())
        return [entry.message for entry in chain(self._opening, *self._rounds)]

    def record_response(self, said: Completion) -> Completion:
        """Begin a round with what the model said, shortened; gives what of it counts, whole."""
        calls = tuple(_readable(call) for call in said.calls if len(call.name) + len(call.id) <= _LONGEST_NAME)[:MOST_CALLS]
        kept = Message("assistant", self._cut(said.text, self.budget // 6), tuple(self._shortened(call) for call in calls))
        # Providers refuse a message that is empty.
        self._rounds.append([self._entry(kept)] if kept.text or calls else [])
        return replace(said, text=whole_characters(said.text), calls=calls)

    def answer(self, call: ToolCall, text: str, note: str | None = None) -> None:
        """Give a call its result, at most `share` of it; `note` may stand in its place later."""
        self._add(Message("tool", self._cut(text, self.share), call_id=call.id), note)

    def say(self, text: str) -> None:
        """Say something to the model."""
        self._add(Message("user", self._cut(text, self.budget // 10)), None)

    @property
    def share(self) -> int:
        """Tokens that the result of each call of the newest round may take."""
        calls = sum(len(entry.message.calls) for entry in self._rounds[-1]) if self._rounds else 0
        return max(0, self.budget // 2 // max(calls, 1) - 4 * MESSAGE_TOKENS)

    def _add(self, message: Message, note: str | None) -> None:
        entry = self._entry(message)
        entry.note = note
        if not self._rounds:
            self._rounds.append([])
        self._rounds[-1].append(entry)

    def _shrink(self) -> None:
        for entry in chain(*self._rounds):
            if self._spent() <= self.budget:
                return
            if entry.note is not None:
                shorter = self._entry(replace(entry.message, text=self._cut(entry.note, self.budget // 10)))
                if shorter.tokens < entry.tokens:
                    entry.message, entry.tokens = shorter.message, shorter.tokens
                entry.note = None
        while len(self._rounds) > 1 and self._spent() > self.budget:
            del self._rounds[0]
        for entry in chain(*self._rounds):
            over = self._spent() - self.budget
            if over > 0 and entry.message.role == "tool":  # long names and ids have taken what was left for results
                text = self._cut(entry.message.text, max(0, self._count(entry.message.text) - over)) or _NOTHING_LEFT
                shorter = self._entry(replace(entry.message, text=text))
                entry.message, entry.tokens = shorter.message, shorter.tokens

    def _spent(self) -> int:
        return sum(entry.tokens for entry in chain(*self._rounds))

    def _shortened(self, call: ToolCall) -> ToolCall:
        """Return the call as the model is reminded of it: long arguments would fill the window by themselves."""
        most = self.budget // 8 // MOST_CALLS
        if self._count(_json(call.arguments)) <= most:
            return call
        name, text = next(((name, text) for name, text in call.arguments.items() if isinstance(text, str)), ("", ""))
        return replace(call, arguments={name[:_LONGEST_NAME]: self._cut(text, most // 2)} if name else {})

    def _cut(self, text: str, tokens: int) -> str:
        return self._tokenizer.trim(whole_characters(text[:_LONGEST_TEXT]), tokens)

    def _entry(self, message: Message) -> _Entry:
        calls = sum(self._count(call.name + call.id + _json(call.arguments)) + MESSAGE_TOKENS for call in message.calls)
        return _Entry(message, self._count(message.text + message.call_id) + MESSAGE_TOKENS + calls)

    def _tool_tokens(self, tool: ToolSpec) -> int:
        return self._count(tool.name + tool.description + _json(tool.schema)) + MESSAGE_TOKENS

    def _count(self, text: str) -> int:
        return self._tokenizer.count(whole_characters(text))


def _readable(call: ToolCall) -> ToolCall:
    """Return the call with arguments that can be counted and sent on; none where there is too much of them."""
    arguments = whole_characters(_json(call.arguments))
    return replace(call, arguments=json.loads(arguments) if len(arguments) <= _LONGEST_TEXT else {})


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
