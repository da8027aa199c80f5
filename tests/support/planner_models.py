"""Chat models for planning that do what a test tells them, and an event loop whose clock jumps to what is due next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from carrel.assist import planner
from carrel.model.conversation import Completion, Message, ToolSpec
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeChatModel, faulty
from carrel.model.ports import MODEL_DEFAULTS, ChatModel, ChatSpec, Delta, Sampling
from carrel.question.planner_rules import Step

T = TypeVar("T")


class Planner:
    """Answers each step with its text; one without waits for ever. `asked` has the steps and `seen` the requests."""

    def __init__(self, answers: Mapping[Step, str]) -> None:
        self.spec = ChatSpec("planner-1")
        self.answers = answers
        self.asked: list[Step] = []
        self.seen: list[str] = []
        self.options: list[Sampling] = []
        self.came = asyncio.Condition()

    async def full(self, many: int) -> None:
        """Return when it was asked so often."""
        async with self.came:
            await self.came.wait_for(lambda: len(self.asked) >= many)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        assert not tools
        step = next(step for step, prompt in planner._PROMPTS.items() if prompt == messages[0].text)
        self.asked.append(step)
        self.seen.append(messages[1].text)
        self.options.append(options)
        async with self.came:
            self.came.notify_all()
        if step not in self.answers:
            await asyncio.Event().wait()
        yield Delta(self.answers[step])
        yield Delta(finish="stop")


class Pieces:
    """Gives these pieces, for ever if `endless`, and never lets others run in between."""

    def __init__(self, *pieces: Any, endless: bool = False) -> None:
        self.spec = ChatSpec("pieces-1")
        self.pieces, self.endless = pieces, endless

    async def stream(self, *_: Any) -> AsyncIterator[Delta]:
        while True:
            for piece in self.pieces:
                yield piece
            if not self.endless:
                return


class Deaf:
    """Waits for ever, and doesn't heed its cancel."""

    spec = ChatSpec("deaf-1")

    def __init__(self) -> None:
        self.let = asyncio.Event()

    async def stream(self, *_: Any) -> AsyncIterator[Delta]:
        while not self.let.is_set():
            try:
                await self.let.wait()
            except asyncio.CancelledError:
                continue
        yield Delta("late", finish="stop")


def says(text: str, **more: Any) -> FakeChatModel:
    return FakeChatModel(Completion(text, **more))


FAULTS: dict[str, Callable[[], ChatModel]] = {
    "raises": lambda: faulty(says("x"), fail=ProviderError("The service is down.")),
    "raises something else": lambda: faulty(says("x"), fail=RuntimeError("hunter2")),
    "ends the process": lambda: faulty(says("x"), fail=SystemExit(3)),  # type: ignore[arg-type]
    "hangs": lambda: faulty(says("x"), hang=True),
    "says nothing": lambda: says(" \n"),
    "breaks off": lambda: Pieces(Delta("server")),
    "withholds": lambda: says("server failure", finish="filter"),
    "gives no pieces": lambda: Pieces(None, 7),
    "speaks for ever": lambda: Pieces(Delta("server "), endless=True),
    "gives nothing for ever": lambda: Pieces(Delta(""), endless=True),
    "gives one giant piece": lambda: Pieces(Delta("server " * 1_000_000, finish="stop")),
    "refuses": lambda: says("I'm sorry, but I can't help with that."),
    "refuses in German": lambda: says("Es tut mir leid, dabei kann ich nicht helfen."),
    "asks back": lambda: says("Could you please provide more context?"),
}
"""Models that no query can be had from, whatever was asked."""


class JumpingClock(asyncio.SelectorEventLoop):
    """Never waits: where nothing is ready, it is the time of what is due next. For work without threads."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        ready, scheduled = (getattr(self, name) for name in ("_ready", "_scheduled"))
        if not ready and scheduled:
            self.now = max(self.now, scheduled[0]._when)
        super()._run_once()  # type: ignore[misc]


def on_jumping_clock(work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, float]:
    """Run a coroutine; return what it returns and how many seconds it would have taken."""
    with asyncio.Runner(loop_factory=JumpingClock) as runner:
        return runner.run(work()), runner.get_loop().time()
