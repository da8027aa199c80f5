"""What is said between Carrel and a chat model that can call tools. Plain data, in no provider's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "tools", "filter"]
"""Why an answer ended: it was complete, too long, waits for tools, or was withheld."""


class RawArguments(dict[str, Any]):
    """Arguments that are no JSON object: `value` is what the model wrote. They are empty until somebody reads that."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value

    def __reduce__(self) -> tuple[type[RawArguments], tuple[object]]:
        return RawArguments, (self.value,)


class ToolCall(Struct, frozen=True):
    """A tool that the model wants run. Nothing of it can be trusted to fit the tool; `arguments` may be `RawArguments`."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class ToolSpec(Struct, frozen=True):
    """A tool that the model is offered; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


class Message(Struct, frozen=True):
    """One message. Only an assistant's holds calls; a tool's answers the call whose id it names."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class Completion(Struct, frozen=True):
    """What the model says next: words, tools to run, or both."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
