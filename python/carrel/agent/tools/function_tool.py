"""A Python function as a tool: its name, its docstring and the types of its parameters are what a model is told of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from carrel.model.conversation import ToolSpec
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.patterns import lazy_pattern
from carrel.model.ports import ToolResult
from carrel.model.structs import decode, schema

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
        except Exception as error:
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
