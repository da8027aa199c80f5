"""Ask a chat model about a folder's code from Python: `carrel.ask`, `carrel.chat`, `carrel.review`.

The same conversation as that of `carrel ask` and of editors: context first, then the tools of the workspace, those that the
person approved, and the functions that the caller gives; citations are checked.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

import msgspec
from msgspec import Struct

from carrel.agent.agent_steps import Event, TextDelta, Usage
from carrel.agent.citations import Citation
from carrel.agent.reviewer import Level
from carrel.composition.composition import Composition
from carrel.extensions.rag.config import AskModel
from carrel.library_arguments import chat_model_argument, history_argument, path_argument
from carrel.model.bounds import checked
from carrel.model.caller import Caller
from carrel.model.conversation import Message, ToolSpec
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.patterns import lazy_pattern
from carrel.model.ports import ChatModel, Tool, ToolResult
from carrel.model.structs import decode, schema
from carrel.pack.chat import question_of
from carrel.policy.audit import AuditTrail
from carrel.service import asks
from carrel.service.context_request import ContextRequest
from carrel.service.session import Session
from carrel.system.background import run_blocking

_WAIT_MS = 600_000
"""How long a first index may take before a question is answered from what there is."""


class Answer(Struct, frozen=True):
    """The answer of a model; behind a citation that doesn't hold stands `[unverified]`. `str` of it is the text.

    `problem` says what else is wrong with it, `steps` are what happened: what the model was asked, the tools and what they said.
    """

    text: str
    citations: tuple[Citation, ...]
    problem: str
    steps: tuple[Event, ...]
    usage: Usage

    def __str__(self) -> str:
        return self.text


class Review(Struct, frozen=True):
    """An issue's work. Where the model gave no answer that can be used, `problem` says why and `raw_text` is what it said."""

    summary: str = ""
    difficulty_score: int | None = None
    recommended_level: Level | None = None
    concepts_required: tuple[str, ...] = ()
    mentoring_advice: str = ""
    chunks_used: int = 0
    problem: str = ""
    raw_text: str = ""


class ChatOptions(TypedDict, total=False):
    """The arguments of `Chat` beside the folder."""

    model: str | ChatModel | AskModel | None
    tools: Sequence[Callable[..., Any] | Tool]
    history: Sequence[Message | Mapping[str, str]]
    max_tokens: int | None
    assess: bool
    on_step: Callable[[Any], None]


class Chat:
    """A conversation with a chat model about a folder. Close it, or use it in a `with` block.

    `model` is the name of another model of the provider that the settings name, a `ChatModel`, or any object with `ask`
    (docs/rag.md); None for the model of the settings. `tools` are functions, whose docstrings and types the model is told, or
    objects that meet the port `Tool`. With `assess` the model says before it answers whether the context is enough, and has other
    words or more searched for. `on_step` is called with every step. `max_tokens` is how many tokens the model takes.

    Calls block; from a coroutine use `asyncio.to_thread`. Raises `InvalidInput` for arguments that can't be used, and
    `ProviderError` without a model or where it fails.
    """

    def __init__(
        self,
        path: str | Path = ".",
        *,
        model: str | ChatModel | AskModel | None = None,
        tools: Sequence[Callable[..., Any] | Tool] = (),
        history: Sequence[Message | Mapping[str, str]] = (),
        max_tokens: int | None = None,
        assess: bool = False,
        on_step: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._root = path_argument(path).expanduser().resolve()
        if not self._root.is_dir():
            raise InvalidInput("path", f"{self._root} is not a folder")
        if not isinstance(tools, Iterable):
            raise InvalidInput("tools", f"is {type(tools).__name__}", "Give a list of functions, such as [function].")
        self._tools = tuple(map(_tool, tools))
        self._history, self._on_step, self._assess = list(history_argument(history)), on_step, assess
        self._max_tokens = checked("max_tokens", max_tokens, int | None)
        self._session = run_blocking(self._open())
        self._workspace = self._session.workspace(None)
        try:
            brought = None if model is None or isinstance(model, str) else chat_model_argument(model)
            self._model = brought or self._workspace.chat_model(model if isinstance(model, str) else None)
        except BaseException:
            self.close()
            raise

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said, oldest first."""
        return tuple(self._history)

    def ask(self, question: str) -> Answer:
        """Have a question answered that may speak of those before."""
        return run_blocking(self._ask(checked("question", question, str)))

    def review(self, issue: str, body: str = "") -> Review:
        """Have the model search the code and say what an issue takes. The first line of `issue` is its title."""
        title, _, rest = checked("issue", issue, str).strip().partition("\n")
        text = "\n".join(filter(None, (rest.strip(), checked("body", body, str))))
        return run_blocking(self._review(asks.ReviewRequest(title, text, max_tokens=self._max_tokens, wait_ms=_WAIT_MS)))

    def close(self) -> None:
        """Release the index and the model's connections. A second call does nothing."""
        run_blocking(self._session.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def _open(self) -> Session:
        session = Session(Composition(audit=AuditTrail(Caller("library"))), lambda _folders, _path: None)
        session.configure({})
        blocked = session.add_folder(str(self._root), self._root.as_uri()).blocked
        if blocked:
            await session.close()
            raise blocked
        return session

    async def _ask(self, question: str) -> Answer:
        steps: list[Event] = []

        def tell(event: Event) -> None:
            self._on_step(event)
            if not isinstance(event, TextDelta):
                steps.append(event)

        settings, messages = self._workspace.settings, (*self._history, Message("user", question))
        budget = settings.budget_policy.budget(self._max_tokens or self._model.spec.window)
        context = ContextRequest(
            question_of(question) or question,
            settings.places(budget),
            budget,
            trigger="explicit",
            wait_ms=_WAIT_MS,
            history=tuple(self._history),
        )
        request = asks.AskRequest(messages, context, self._max_tokens, self._tools, self._assess)
        answered = (await asks.ask(self._workspace, request, self._model, tell)).answered
        if answered.text:
            self._history = [*messages, Message("assistant", answered.text)]
        return Answer(answered.text, answered.checked.citations, answered.problem, tuple(steps), answered.usage)

    async def _review(self, request: asks.ReviewRequest) -> Review:
        result, _ = await asks.review(self._workspace, request, self._model, self._on_step)
        if result.answer is None:
            return Review(chunks_used=result.chunks_used, problem=result.problem, raw_text=result.raw)
        answer = result.answer
        return Review(
            answer.summary,
            answer.difficulty_score,
            answer.recommended_level,
            answer.concepts_required,
            answer.mentoring_advice,
            result.chunks_used,
        )


def chat(path: str | Path = ".", **options: Unpack[ChatOptions]) -> Chat:
    """Begin a conversation with a chat model about a folder; `options` are those of `Chat`."""
    return Chat(path, **options)


def ask(question: str, path: str | Path = ".", **options: Unpack[ChatOptions]) -> Answer:
    """Have a chat model answer one question about a folder; `options` are those of `Chat`."""
    with Chat(path, **options) as talk:
        return talk.ask(question)


def review(issue: str, path: str | Path = ".", *, body: str = "", **options: Unpack[ChatOptions]) -> Review:
    """Have a chat model say what an issue takes in a folder; `options` are those of `Chat`."""
    with Chat(path, **options) as talk:
        return talk.review(issue, body)


def _tool(tool: Callable[..., Any] | Tool) -> Tool:
    return tool if hasattr(tool, "spec") and hasattr(tool, "run") else FunctionTool(tool)


_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_LONGEST_CAUSE = 300


class FunctionTool:
    """Calls a function on a thread of its own, a coroutine function on the event loop.

    Raises `InvalidInput` for a function that no JSON object can be given to.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        name = getattr(function, "__name__", "")
        if not callable(function) or not _NAME.fullmatch(name):
            raise InvalidInput("tools", f"has {function!r}", "Give functions with a name, or objects that meet the port `Tool`.")
        self._function, self._arguments = function, _arguments(function, name)
        self.spec = ToolSpec(name, inspect.getdoc(function) or name.replace("_", " "), schema(self._arguments))

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Call the function. What it raises is told to the model, which may call it otherwise."""
        try:
            values = msgspec.structs.asdict(decode(self._arguments, dict(arguments)))
            if inspect.iscoroutinefunction(self._function):
                value = await self._function(**values)
            else:
                value = await asyncio.to_thread(self._call, values)
            return ToolResult(value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode())
        except CarrelError as error:
            return ToolResult(str(error), is_error=True)
        except (Exception, SystemExit) as error:  # nor may a tool end the program
            cause = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_CAUSE]
            return ToolResult(f"{self.spec.name} failed: {cause}", is_error=True)

    def _call(self, arguments: Mapping[str, Any]) -> Any:
        try:
            return self._function(**arguments)
        except StopIteration as error:  # asyncio hands it on to nobody
            raise RuntimeError("StopIteration") from error


def _arguments(function: Callable[..., Any], name: str) -> type[msgspec.Struct]:
    """Return a struct with a field for each parameter."""
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    try:
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise InvalidInput("tools", f"{name} has the parameter {parameter}", "Models name each parameter.")
            kind = Any if parameter.annotation is parameter.empty else parameter.annotation
            default = () if parameter.default is parameter.empty else (msgspec.field(default_factory=_giving(parameter.default)),)
            fields.append((parameter.name, kind, *default))
        made = msgspec.defstruct(name, fields, kw_only=True)
        schema(made)
    except (NameError, TypeError, ValueError) as error:
        raise InvalidInput("tools", f"{name}: {error}", "Use types that JSON has for its parameters.") from None
    return made


def _giving(value: Any) -> Callable[[], Any]:
    return lambda: value
