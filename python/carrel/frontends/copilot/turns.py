"""What a chat turn looks like on its way to the Copilot Language Server, and where context goes in it. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from carrel.frontends.common import json_splice
from carrel.frontends.common.transcripts import text_of, text_parts
from carrel.frontends.common.uris import uri_to_path

Mode = Literal["prepend", "references", "off"]

TURNS = ("conversation/create", "conversation/turn")
_TEXT = ("text",)


@dataclass(frozen=True, slots=True)
class Turn:
    """The user's words of now, the message that holds them, and where in its bytes they stand."""

    raw: bytes
    params: dict[str, Any]
    span: json_splice.Span
    text: str  # what the context goes into
    whole_text: str  # all of the user's text, which is what is asked
    history: tuple[dict[str, str], ...] = ()  # earlier turns that the request itself holds, as `carrel/context` takes them

    @property
    def folders(self) -> tuple[str, ...]:
        """The workspace folders of this machine that the request itself names."""
        named = [self.params.get("workspaceFolder"), *(_items(self.params.get("workspaceFolders")))]
        uris = (item.get("uri") if isinstance(item, dict) else item for item in named)
        return tuple(dict.fromkeys(uri for uri in uris if isinstance(uri, str) and uri_to_path(uri)))

    @property
    def conversation(self) -> str | None:
        """The conversation that it goes on with; None where it begins one."""
        named = self.params.get("conversationId")
        return named if isinstance(named, str) else None

    @property
    def progress_token(self) -> str | int | None:
        """What the parts of its answer are reported under."""
        token = self.params.get("workDoneToken")
        return token if type(token) in (str, int) else None

    @property
    def model(self) -> str | None:
        """The chat model, where the request names one."""
        chosen = self.params.get("modelInfo")  # `model` is the older form
        model = chosen.get("id") if isinstance(chosen, dict) else self.params.get("model")
        return model if isinstance(model, str) else None

    def with_text(self, text: str) -> bytes:
        """Return the message with this text in place of the user's; every other byte stays."""
        return json_splice.replaced(self.raw, self.span, text)

    def with_references(self, references: list[dict[str, Any]]) -> bytes | None:
        """Return the message with more references, all else as it was; None where it has several lists of them."""
        given = self.params.get("references")
        if "references" not in self.params:
            span = json_splice.span_of(self.raw, ("params",))
            return json_splice.with_first_member(self.raw, span, "references", references) if span else None
        span = json_splice.span_of(self.raw, ("params", "references"))
        if span is None:
            return None
        if not isinstance(given, list) or not given:
            return json_splice.replaced(self.raw, span, references)
        return json_splice.with_more_items(self.raw, span, references)


def turn_of(body: bytes) -> Turn | None:
    """Return the current turn of a `conversation/create` or `conversation/turn` request; None for anything else."""
    message = json_splice.parse(body)
    if not isinstance(message, dict) or message.get("method") not in TURNS or "id" not in message:
        return None
    params = message.get("params")
    if not isinstance(params, dict):
        return None
    if message["method"] == "conversation/turn":
        return _turn(body, params, ("params", "message"), params.get("message"))
    # Earlier turns carry their response; the one without is the one that is asked now.
    turns = _items(params.get("turns"))
    open_turns = [i for i, turn in enumerate(turns) if isinstance(turn, dict) and turn.get("response") is None]
    if not open_turns:
        return None
    at = open_turns[-1]
    turn = _turn(body, params, ("params", "turns", at, "request"), turns[at].get("request"))
    return replace(turn, history=_said(turns[:at])) if turn else None


def _turn(raw: bytes, params: dict[str, Any], path: json_splice.Path, content: Any) -> Turn | None:
    if isinstance(content, str):
        text = whole = content
    else:
        parts = text_parts(content, _TEXT)
        if not parts:
            return None
        path, text = (*path, parts[0][0], "text"), parts[0][1]
        whole = text_of(content, _TEXT)
    span = json_splice.string_span(raw, path, text)
    return Turn(raw, params, span, text, whole) if span else None


def _said(turns: list[Any]) -> tuple[dict[str, str], ...]:
    """Return what earlier turns asked and were answered."""
    said = [
        {"role": role, "content": text}
        for turn in turns
        if isinstance(turn, dict)
        for role, field in (("user", "request"), ("assistant", "response"))
        if (text := text_of(turn.get(field), _TEXT))
    ]
    return tuple(said)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
