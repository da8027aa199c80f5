"""A conversation with a chat model that stays below a number of tokens, however long it goes on.

The opening stays as it is. What was said before it gives way first, from its oldest turn. Of what came later the oldest gives
way first: a tool's result to a note of what it held, then whole rounds (what the model said, and the results that answer it:
providers refuse a call without its result). What enters is cut to a part of the budget, so that the newest round always fits.

Messages are counted as they are sent: with calls as the provider has them, or as text (`tool_calls`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from carrel.agent.tool_calls import MOST_CALLS, CallForm, CallsAsText, NativeCalls, as_json, merged
from carrel.model.conversation import Completion, Message, ToolCall, ToolSpec
from carrel.model.ports import Tokenizer
from carrel.model.structs import whole_characters

MESSAGE_TOKENS = 8
"""What a message or a call costs beside its text, in the forms that providers make of it: more than any needs."""
_NOTHING_LEFT = "(cut)"
LONGEST_NAME = 100
"""Characters of a call's name, and of its id."""
_LONGEST_TEXT = 100_000
"""Characters that are looked at at all: counting tokens takes time."""


class _Entry(Struct):
    message: Message
    tokens: int
    note: str | None = None  # what may stand in its place


class Window:
    """The messages of one conversation."""

    def __init__(
        self,
        opening: Sequence[Message],
        tools: Sequence[ToolSpec],
        limit: int,
        tokenizer: Tokenizer,
        *,
        history: Sequence[Message] = (),
    ) -> None:
        """`limit` counts everything that is sent with a request: messages, calls and the tools' descriptions.

        `history` stands behind the first message of the opening, as much of it as fits.
        """
        self.tokenizer = tokenizer
        self.limit = limit
        self._tools = tuple(tools)
        self._form: CallForm = NativeCalls(self._tools)
        self._opening = [self._entry(message) for message in opening]
        self._history = [self._entry(message) for message in history]
        self._rounds: list[list[_Entry]] = []
        self.budget = 0
        self._measure()
        self.largest = 0
        """Tokens of the longest request so far."""

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """What the provider is told of tools."""
        return self._form.offered

    @property
    def as_text(self) -> bool:
        """Whether calls are text."""
        return isinstance(self._form, CallsAsText)

    def use_text(self) -> None:
        """Have calls travel as text from now on, those of before too."""
        self._form = CallsAsText(self._tools)
        for entry in chain(self._opening, self._history, *self._rounds):
            entry.tokens = self._entry(entry.message).tokens
        self._measure()

    def messages(self) -> list[Message]:
        """Return what to send now, within the limit."""
        self._shrink()
        self.largest = max(self.largest, self.size)
        entries = chain(self._opening[:1], self._history, self._opening[1:], *self._rounds)
        sent = [self._form.sent(entry.message) for entry in entries]
        return merged(sent) if self.as_text else sent

    @property
    def size(self) -> int:
        """Tokens of a request as it stands."""
        return self._fixed + self._spent()

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self.tokenizer.count(whole_characters(text))

    def record_response(self, said: Completion) -> Completion:
        """Begin a round with what the model said, shortened; gives what of it counts, whole."""
        calls = tuple(_readable(call) for call in said.calls if len(call.name) + len(call.id) <= 2 * LONGEST_NAME)[:MOST_CALLS]
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

    def _measure(self) -> None:
        told = (f"{tool.name}{tool.description}{as_json(tool.schema)}" for tool in self.offered)
        self._fixed = sum(entry.tokens for entry in self._opening) + sum(self.count(text) + MESSAGE_TOKENS for text in told)
        self.budget = max(0, self.limit - self._fixed)

    def _add(self, message: Message, note: str | None) -> None:
        entry = self._entry(message)
        entry.note = note
        if not self._rounds:
            self._rounds.append([])
        self._rounds[-1].append(entry)

    def _shrink(self) -> None:
        while self._history and (self._spent() > self.budget or self._history[0].message.role != "user"):
            del self._history[0]  # a conversation begins with the person
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
                text = self._cut(entry.message.text, max(0, self.count(entry.message.text) - over)) or _NOTHING_LEFT
                shorter = self._entry(replace(entry.message, text=text))
                entry.message, entry.tokens = shorter.message, shorter.tokens

        # Names and ids alone are too much: what was said to the model last is all that is kept, if even that fits.
        for kept in ([entry for entry in self._rounds[-1] if entry.message.role == "user"] if self._rounds else [], []):
            if self._spent() > self.budget:
                self._rounds = [kept]

    def _spent(self) -> int:
        return sum(entry.tokens for entry in chain(self._history, *self._rounds))

    def _shortened(self, call: ToolCall) -> ToolCall:
        """Return the call as the model is reminded of it: long arguments would fill the window by themselves."""
        most = self.budget // 8 // MOST_CALLS
        if self.count(as_json(call.arguments)) <= most:
            return call
        name, text = next(((name, text) for name, text in call.arguments.items() if isinstance(text, str)), ("", ""))
        return replace(call, arguments={name[:LONGEST_NAME]: self._cut(text, most // 2)} if name else {})

    def _cut(self, text: str, tokens: int) -> str:
        return self.tokenizer.trim(whole_characters(text[:_LONGEST_TEXT]), tokens)

    def _entry(self, message: Message) -> _Entry:
        sent = self._form.sent(message)
        calls = sum(self.count(call.name + call.id + as_json(call.arguments)) + MESSAGE_TOKENS for call in sent.calls)
        return _Entry(message, self.count(sent.text + sent.call_id) + MESSAGE_TOKENS + calls)


def _readable(call: ToolCall) -> ToolCall:
    """Return the call with arguments that can be counted and sent on; none where there is too much of them."""
    try:
        arguments = whole_characters(as_json(call.arguments))
        return replace(call, arguments=json.loads(arguments) if len(arguments) <= _LONGEST_TEXT else {})
    except (TypeError, ValueError, RecursionError):
        return replace(call, arguments={})
