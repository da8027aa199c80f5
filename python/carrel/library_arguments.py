"""Check what a program hands to the library, so that an argument that can't be used is named and not a fault inside."""

# ruff: noqa: PLC0415 - an index is opened without what agents need
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, get_args

from msgspec import Meta, structs

from carrel.model.bounds import MOST, checked
from carrel.model.conversation import Message
from carrel.model.errors import InvalidInput
from carrel.model.ports import ChatModel, ChatSpec
from carrel.model.types import Budget, Filters, Format
from carrel.pack.formats import Form

MOST_HITS = 10_000
HitCount = Annotated[int, Meta(ge=0, le=MOST_HITS)]


def chat_model_argument(model: object) -> ChatModel:
    """Return the model that the caller brought, an object with `ask` behind the port."""
    if callable(getattr(model, "stream", None)) and isinstance(getattr(model, "spec", None), ChatSpec):
        return model  # type: ignore[return-value]  # what was just looked at
    if callable(getattr(model, "ask", None)):
        from carrel.extensions.rag.context import window_of
        from carrel.extensions.rag.plain import ChatModelPort

        return ChatModelPort(model, ChatSpec(type(model).__name__, window=window_of(model)))  # type: ignore[arg-type]
    raise InvalidInput("model", f"is {type(model).__name__}", "Give a ChatModel or an object with `ask`.")


def path_argument(path: object) -> Path:
    """Return the path that was given as text or as a path."""
    if not isinstance(path, str | Path):
        raise InvalidInput("path", f"must be text or a pathlib.Path, not {type(path).__name__}")
    return Path(path)


def budget_argument(budget: object) -> Budget:
    """Return the budget that was given as a number of characters or as a `Budget`."""
    if not isinstance(budget, Budget):
        budget = Budget(checked("budget", budget, int))
    amount = checked("budget.amount", budget.amount, Annotated[int, Meta(ge=0, le=MOST)])
    if budget.unit not in ("tokens", "chars"):
        raise InvalidInput("budget.unit", 'must be "tokens" or "chars"')
    return Budget(amount, budget.unit)


def filters_argument(filters: object) -> Filters:
    """Return the filters, whose lists may be tuples or lists; those that let everything through for None."""
    if filters is None:
        return Filters()
    if not isinstance(filters, Filters):
        raise InvalidInput("filters", f"must be carrel.model.types.Filters, not {type(filters).__name__}")
    values = structs.asdict(filters)
    converted: Filters = checked("filters", values, Filters)
    return converted


def history_argument(history: object) -> tuple[Message, ...]:
    """Return the turns of a conversation, each given as a `Message` or as an object with its `role` and its `text`, which may be
    called `content` as in APIs of chats.
    """
    if isinstance(history, Sequence) and not isinstance(history, str):
        history = [_with_text(turn) for turn in history]
    converted: tuple[Message, ...] = checked("history", history, tuple[Message, ...])
    return converted


def _with_text(turn: object) -> object:
    if not isinstance(turn, Mapping) or "content" not in turn or "text" in turn:
        return turn
    return {"text" if name == "content" else name: value for name, value in turn.items()}


def form_argument(form: object) -> Format | Form:
    """Return the form that was given by its name, or as one of the caller's own."""
    if form in get_args(Format) or (not isinstance(form, str) and hasattr(form, "block")):
        return form  # type: ignore[return-value]  # what was just looked at
    names = ", ".join(f'"{name}"' for name in get_args(Format))
    raise InvalidInput("form", f"must be {names} or a form of your own, such as SourceForm")


def metadata_argument(metadata: object) -> dict[str, str | int | float | bool]:
    """Return a file's own metadata; an error names the key whose value can't be kept."""
    if not isinstance(metadata, Mapping):
        raise InvalidInput("metadata", f"must be a mapping of keys to values, not {type(metadata).__name__}")
    return {
        checked("a key of metadata", key, str): checked(f"metadata[{key!r}]", value, str | bool | int | float)
        for key, value in metadata.items()
    }
