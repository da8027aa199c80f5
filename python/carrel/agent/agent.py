"""The loop of a chat model with tools, for every use case that has one: reviews, questions.

The model decides which tools to call and how to answer. Everything else is decided here: what it may call, with which
arguments, how often, for how long and with how many tokens; what a tool says is data that nothing here reads as an order. A
tool that fails, hangs or never ends its text costs its own call only. Runs on the event loop; a cancel ends it at any await.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.agent import agent_steps as steps
from carrel.agent.tool_arguments import names_of, problem_with, read_arguments
from carrel.agent.tool_calls import MOST_CALLS, ShownText, read_calls
from carrel.agent.window import LONGEST_NAME, Window
from carrel.model.conversation import Completion, Finish, Message, RawArguments, ToolCall
from carrel.model.errors import Cancelled, CarrelError, ProviderError, place_of
from carrel.model.ports import MODEL_DEFAULTS, BudgetedTool, ChatModel, Delta, Sampling, Tool, ToolResult
from carrel.model.structs import whole_characters
from carrel.model.types import ContextItem
from carrel.model_calls.chat_model import settled
from carrel.system.background import is_being_cancelled

log = logging.getLogger(__name__)

_BAD_TURNS = 2
"""After so many turns without one usable call the tools are offered in words."""
_DELTAS_A_TURN = 256
"""After so many pieces of an answer others on the event loop have their turn: a stream may never wait by itself."""
_MOST_EMPTY = 10_000
"""So many pieces without any text are no answer."""
_LONGEST_QUOTED = 2_000_000
"""Characters of what the model was given that are kept to tell its quotations from its calls."""
_CUT = "\n(The rest was cut: it is too long. Ask for a part of it.)"
_REPEATED = "(The same call as before, so it was not run again: make another one, or answer with what you have. It gave:)\n"

Check = Callable[[str], str]
"""Says what is wrong with an answer; empty where it can be used."""


class _Call(Struct, frozen=True):
    """A call as it can be run, or why it can't."""

    call: ToolCall
    problem: str = ""


class _Answer(Struct):
    """An answer while it comes."""

    text: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    finish: Finish | None = None
    length: int = 0
    empty: int = 0


class Agent:
    """One run. `notify` is told every step; `check` says whether an answer can be used: one that can't is asked for once more.

    Errors of the classes `fatal` end the run when a tool raises them; all others are told to the model. `material` is what the
    model was given before the run began, beside its instructions.
    """

    def __init__(
        self,
        model: ChatModel,
        tools: Sequence[Tool],
        window: Window,
        *,
        limits: steps.Limits = steps.Limits(),  # noqa: B008 - it can't be changed
        notify: Callable[[steps.Event], None] = lambda _: None,
        check: Check | None = None,
        wording: steps.Wording = steps.Wording(),  # noqa: B008 - likewise
        options: Sampling = MODEL_DEFAULTS,
        fatal: tuple[type[Exception], ...] = (),
        material: Sequence[str] = (),
    ) -> None:
        self._model = model
        self._tools = {tool.spec.name: tool for tool in tools}
        self._window = window
        self._limits = limits
        self._notify = notify
        self._check = check
        self._wording = wording
        self._options = options
        self._fatal: tuple[type[Exception], ...] = (Cancelled, *fatal)
        self._quoted = [_folded(text) for text in material]
        self._seen: dict[str, ToolResult] = {}
        self._items: list[ContextItem] = []
        self._bad_turns = 0
        self._finish: Finish = "stop"
        self._limit: steps.LimitName | None = None
        spec = model.spec
        self._prices = None if spec.price is None or spec.output_price is None else (spec.price / 1e6, spec.output_price / 1e6)
        self.usage = steps.Usage(cost=None if self._prices is None else 0.0)
        if not spec.tools and not window.as_text:
            window.use_text()

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """The lines of the workspace that tools have shown the model so far."""
        return tuple(self._items)

    async def run(self) -> steps.Outcome:
        """Let the model work until it answers or a limit is reached.

        Raises `ProviderError` when the model fails, and what is `fatal`. Where it fails only when it is asked again, its first
        answer is the outcome.
        """
        self._began = time.monotonic()
        try:
            said = await self._work()
            problem = self._problem_of(said)
            if problem:
                said, problem = await self._again(said, problem)
        finally:
            self.usage.milliseconds = round(1000 * (time.monotonic() - self._began), 3)
        return steps.Outcome(said.text, problem, self._finish, self._limit, self.usage, self.items)

    async def _work(self) -> Completion:
        while (limit := self._exhausted()) is None:
            said, calls = await self._turn()
            if not calls:
                return said
            await self._run_calls(calls)
        self._limit = limit
        self._notify(steps.LimitReached(limit))
        self._window.say(self._wording.no_more)
        return (await self._turn())[0]

    async def _again(self, said: Completion, problem: str) -> tuple[Completion, str]:
        """Ask once more, and say what is wrong with the answer then."""
        self._notify(steps.AskedAgain(problem))
        for call in said.calls:
            self._window.answer(call, "Not run.")
        self._window.say(self._wording.again.format(problem=problem))
        try:
            second, _ = await self._turn()
        except ProviderError as error:
            return said, f"{problem}; and when it was asked again: {error}"
        return second, self._problem_of(second)

    def _problem_of(self, said: Completion) -> str:
        if said.calls and not said.text.strip():
            return self._wording.asks_more
        if self._check is not None:
            return self._check(said.text)
        return "" if said.text.strip() else "it is empty"

    def _exhausted(self) -> steps.LimitName | None:
        """Return which limit the next step would break, with what the last answer needs kept free."""
        usage, limits = self.usage, self._limits
        used_up: list[tuple[steps.LimitName, bool]] = [
            ("steps", usage.requests >= limits.steps),
            ("calls", usage.calls >= limits.calls),
            ("time", time.monotonic() - self._began >= limits.seconds),
        ]
        request, last = self._window.size, self._window.limit
        if limits.tokens is not None:
            # The next step, then the last answer, asked for twice.
            used_up.append(("tokens", usage.tokens + request + 2 * last + 3 * limits.answer_tokens > limits.tokens))
        if limits.cost is not None and self._prices is not None and usage.cost is not None:
            price, output_price = self._prices
            ahead = price * (request + 2 * last) + output_price * 3 * limits.answer_tokens
            used_up.append(("cost", usage.cost + ahead > limits.cost))
        return next((name for name, is_used_up in used_up if is_used_up), None)

    # --- the model

    async def _turn(self) -> tuple[Completion, list[_Call]]:
        """Ask the model once; return what it said, and its calls as they can be run."""
        messages, usage = self._window.messages(), self.usage
        usage.requests += 1
        usage.largest = self._window.largest
        usage.prompt_tokens += self._window.size
        self._notify(steps.ModelAsked(usage.requests, self._window.size))
        self._pay(self._window.size, 0)
        shown, answer = ShownText(), _Answer()
        try:
            await self._listen(answer, messages, shown)
        finally:
            text = "".join(answer.text)
            called = (str(call.arguments)[: self._limits.answer_chars] for call in answer.calls)
            spent = sum(map(self._window.count, (text, *called)))
            usage.answer_tokens += spent
            self._pay(0, spent)
        self._finish = answer.finish or "stop"
        if self._finish == "length":
            self._notify(steps.LimitReached("answer"))
        said = self._read(Completion(text, tuple(answer.calls), self._finish))
        in_text = bool(said.calls) and not answer.calls
        if not in_text and (rest := shown.rest()):
            self._notify(steps.TextDelta(whole_characters(rest)))
        calls = self._readable(said.calls)
        said = self._window.record_response(replace(said, calls=tuple(item.call for item in calls)))
        if said.text.strip():
            self._notify(steps.AssistantMessage(said.text, answer=not said.calls))
        return said, [replace(item, call=call) for item, call in zip(calls, said.calls, strict=True)]

    async def _listen(self, answer: _Answer, messages: Sequence[Message], shown: ShownText) -> None:
        """Gather an answer, as far as the limits go."""
        limits, count = self._limits, 0
        name = self._model.spec.id
        try:
            stream = self._model.stream(messages, self._window.offered, self._options)
            async with asyncio.timeout(limits.answer_seconds) as patience:
                try:
                    async for delta in stream:
                        count += 1
                        if count % _DELTAS_A_TURN == 0:
                            await asyncio.sleep(0)
                        if not self._take(answer, delta, shown):
                            return
                finally:
                    if close := getattr(stream, "aclose", None):
                        await close()
        except TimeoutError:
            if not patience.expired():
                raise ProviderError(f"The chat model {name} was late.", retryable=True) from None
            raise ProviderError(f"The chat model {name} didn't end its answer within {limits.answer_seconds:g} s.") from None
        except (CarrelError, asyncio.CancelledError):
            raise
        except Exception as error:  # the model is somebody else's code
            log.warning("A chat model failed with %s at %s", type(error).__name__, place_of(error))
            raise ProviderError(f"The chat model {name} failed ({type(error).__name__}).") from error
        if answer.finish is None:
            raise ProviderError(f"The chat model {name} broke off in the middle of its answer.", retryable=True)

    def _take(self, answer: _Answer, delta: Any, shown: ShownText) -> bool:
        """Add a piece; return false where there were enough."""
        if not isinstance(delta, Delta):
            raise TypeError("a piece of an answer must be a Delta")
        free = self._limits.answer_chars - answer.length
        text = delta.text[: max(free, 0)]
        if text:
            answer.text.append(text)
            answer.length += len(delta.text)
            if piece := shown.add(text):
                self._notify(steps.TextDelta(whole_characters(piece)))
        answer.empty += not text
        answer.calls += [call for call in delta.calls if isinstance(call, ToolCall)][: MOST_CALLS - len(answer.calls)]
        answer.finish = delta.finish or answer.finish
        if len(delta.text) <= free and answer.empty < _MOST_EMPTY:
            return True
        answer.finish = "length"
        return False

    def _read(self, said: Completion) -> Completion:
        """Return what was said with the calls that stand in its text."""
        if said.calls or not self._tools or not said.text.strip():
            return said
        reading = read_calls(said.text, self._tools, self._is_quotation, anywhere=self._window.as_text)
        if reading is None:
            return said
        if not self._window.as_text:
            self._notify(steps.Repaired("a call of a tool that stood in the text"))
        calls = tuple(ToolCall("", call.name, RawArguments(call.arguments)) for call in reading.calls)
        return replace(said, text=reading.text, calls=calls)

    def _is_quotation(self, block: str) -> bool:
        """Tell whether a text stands in what the model was given: to repeat it is no wish to have it run."""
        sought = _folded(block)
        return any(sought in text for text in self._quoted)

    def _pay(self, prompt_tokens: int, answer_tokens: int) -> None:
        if self._prices is not None and self.usage.cost is not None:
            self.usage.cost += self._prices[0] * prompt_tokens + self._prices[1] * answer_tokens

    # --- the tools

    def _readable(self, calls: Sequence[ToolCall]) -> list[_Call]:
        """Return calls with ids that differ, and arguments that fit their tools' schemas or what is wrong with them."""
        read: list[_Call] = []
        for number, call in enumerate(calls[:MOST_CALLS]):
            identity = str(call.id)[:LONGEST_NAME]
            if not identity or any(identity == other.call.id for other in read):
                identity = f"call-{self.usage.requests}-{number}"
            read.append(self._read_call(ToolCall(identity, str(call.name).strip()[:LONGEST_NAME], call.arguments)))
        return read

    def _read_call(self, call: ToolCall) -> _Call:
        raw, call = call.arguments, replace(call, arguments={})
        tool = self._tools.get(call.name)
        if tool is None:
            names = names_of(list(self._tools))
            return _Call(call, f"There is no such tool; {names}." if call.name else f"The call can't be read; {names}.")
        try:
            arguments, mended = read_arguments(raw.value if isinstance(raw, RawArguments) else raw, tool.spec.schema)
            json.dumps(arguments)
        except (RecursionError, TypeError, ValueError):
            arguments, mended = None, False
        if arguments is None:
            return _Call(call, "Not run: the arguments are not a JSON object that can be read.")
        if mended:
            self._notify(steps.Repaired(f"the arguments of {call.name}"))
        problem = problem_with(arguments, tool.spec.schema)
        return _Call(replace(call, arguments=arguments), f"Not run: {problem}" if problem else "")

    async def _run_calls(self, calls: Sequence[_Call]) -> None:
        for item in calls:
            await self._run_call(item)
        self._bad_turns = self._bad_turns + 1 if all(item.problem for item in calls) else 0
        if self._bad_turns >= _BAD_TURNS and not self._window.as_text:
            self._window.use_text()
            self._notify(steps.Repaired("the tools are offered in words, since no call of the last turns could be run"))

    async def _run_call(self, item: _Call) -> None:
        """Run a call and give the model its result. What is wrong with a call is the model's to mend."""
        call, problem = item.call, item.problem
        if self.usage.calls >= self._limits.calls:
            self._window.answer(call, "Not run: there were enough calls.")
            return
        self.usage.calls += 1  # a call that can't be run counts too, or it could be made for ever
        if problem:
            self._notify(steps.CallRefused(call.name, problem))
            self._window.answer(call, problem)
            return
        key = json.dumps([call.name, call.arguments], sort_keys=True)
        self._notify(steps.ToolStarted(call.name, call.arguments))
        began = time.perf_counter()
        before = self._seen.get(key)
        result = before or self._cut(await self._result(self._tools[call.name], call.arguments))
        if before is None:
            self._items += result.items
            self._remember(result.text)
            if not result.is_error:  # what failed may succeed the next time
                self._seen[key] = result
        elapsed = round(1000 * (time.perf_counter() - began), 3)
        self._notify(steps.ToolFinished(call.name, call.arguments, result, elapsed, repeated=before is not None))
        self._window.answer(call, (_REPEATED if before else "") + result.text, result.note or None)

    async def _result(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool; whatever it does, there is a result."""
        name = tool.spec.name
        limit = min(self._limits.tool_seconds, max(1.0, self._began + self._limits.seconds - time.monotonic()))
        tokens = min(self._limits.result_tokens, self._window.share)
        work = tool.run_within(arguments, tokens) if isinstance(tool, BudgetedTool) else tool.run(arguments)
        try:
            done = await settled(work, limit)
            if done is None:
                return ToolResult(f"{name} gave nothing within {limit:g} s and was stopped.", is_error=True)
            result = done.result()
        except self._fatal:
            raise
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            return ToolResult(f"{name} was stopped.", is_error=True)
        except CarrelError as error:
            return ToolResult(f"{name} failed: {error}", is_error=True)
        except Exception as error:  # the tool is somebody else's code
            log.warning("A tool failed with %s at %s", type(error).__name__, place_of(error))
            return ToolResult(f"{name} failed ({type(error).__name__}).", is_error=True)
        if not isinstance(result, ToolResult) or not isinstance(result.text, str):
            return ToolResult(f"{name} gave nothing that can be read.", is_error=True)
        return result

    def _cut(self, result: ToolResult) -> ToolResult:
        """Return a result that fits; of one that was cut nobody knows any more which lines it shows."""
        tokens = min(self._limits.result_tokens, self._window.share)
        text = whole_characters(result.text[: 16 * tokens])  # more than so many tokens have: counting it would take time
        if len(text) == len(result.text) and self._window.count(text) <= tokens:
            return replace(result, text=text)
        kept = self._window.tokenizer.trim(text, max(0, tokens - self._window.count(_CUT) - 1))
        return replace(result, text=kept + _CUT, items=())

    def _remember(self, text: str) -> None:
        if sum(map(len, self._quoted)) < _LONGEST_QUOTED:
            self._quoted.append(_folded(text))


def _folded(text: str) -> str:
    return "".join(text.split())
