"""Read and change chat turns on their way to the Copilot Language Server: where context goes, and the proxy's own tools.

Pure functions.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from carrel.agent import knowledge_form
from carrel.frontends.common import json_splice
from carrel.frontends.common.transcripts import text_of, words_of
from carrel.frontends.common.uris import uri_to_path
from carrel.model.plain_data import as_dict, as_list, read_json

Mode = Literal["prepend", "references", "off"]

TURNS = ("conversation/create", "conversation/turn")
_TEXT = ("text",)


class Turn(Struct, frozen=True):
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
        named = [self.params.get("workspaceFolder"), *(as_list(self.params.get("workspaceFolders")))]
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
        present = self.params.get("references")
        if "references" not in self.params:
            span = json_splice.span_of(self.raw, ("params",))
            return json_splice.with_first_member(self.raw, span, "references", references) if span else None
        span = json_splice.span_of(self.raw, ("params", "references"))
        if span is None:
            return None
        if not isinstance(present, list) or not present:
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
    turns = as_list(params.get("turns"))
    open_turns = [i for i, turn in enumerate(turns) if isinstance(turn, dict) and turn.get("response") is None]
    if not open_turns:
        return None
    at = open_turns[-1]
    turn = _turn(body, params, ("params", "turns", at, "request"), turns[at].get("request"))
    return replace(turn, history=_said(turns[:at])) if turn else None


def _turn(raw: bytes, params: dict[str, Any], path: json_splice.Path, content: Any) -> Turn | None:
    words = words_of(content, _TEXT)
    if words is None:
        return None
    inside, text, whole = words
    span = json_splice.string_span(raw, (*path, *inside), text)
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


SEARCH = "carrel_search"
KNOWLEDGE = "carrel_knowledge_base"
REGISTER_ID = "carrel-proxy/register-tools"
"""The id of the proxy's own request; no client uses such a one, so its answer can be told from theirs."""

_INVOKE = "conversation/invokeClientTool"
_CONFIRM = "conversation/invokeClientToolConfirmation"
METHODS = (_INVOKE, _CONFIRM)
_MOST_HITS = 20
_HITS = {SEARCH: 3, KNOWLEDGE: 5}
"""How many hits a call gets that doesn't say."""

_DESCRIPTIONS = {
    SEARCH: (
        "Search the user's workspace by meaning, words or identifiers (definitions come first, then uses). Gives the most "
        "relevant pieces of code and documentation with path and lines, as they are at this moment. Use it before guessing where "
        "something is or how it works. A text search is better where every occurrence of an exact text counts, and for "
        "regular expressions."
    ),
    KNOWLEDGE: knowledge_form.DESCRIPTION,
}


def _input(name: str) -> dict[str, Any]:
    limit = {"type": "integer", "minimum": 1, "maximum": _MOST_HITS, "description": f"hits at most ({_HITS[name]})"}
    query = {"type": "string", "description": "a question, words or an identifier"}
    return {"type": "object", "properties": {"query": query, "limit": limit}, "required": ["query"]}


def registration() -> bytes:
    """Return the request that registers the tools beside the client's own."""
    params = {"tools": [{"name": name, "description": text, "inputSchema": _input(name)} for name, text in _DESCRIPTIONS.items()]}
    return _encode({"jsonrpc": "2.0", "id": REGISTER_ID, "method": "conversation/registerTools", "params": params})


def is_registered(body: bytes) -> bool:
    """Return true for the answer to `registration`."""
    message = as_dict(read_json(body))
    return message.get("id") == REGISTER_ID and "method" not in message


def invocation(body: bytes) -> dict[str, Any] | None:
    """Return the request if it is about one of these tools; the client answers for its own."""
    message = as_dict(read_json(body))
    params = message.get("params")
    ours = message.get("method") in METHODS and isinstance(params, dict) and params.get("name") in (SEARCH, KNOWLEDGE)
    return message if ours and type(message.get("id")) in (int, str) else None


def needs_search(request: dict[str, Any]) -> bool:
    """Return false when only a consent is asked for: searching reads what the chat may see anyway, so nobody is asked."""
    return bool(request["method"] == _INVOKE)


def question(request: dict[str, Any]) -> tuple[str, int]:
    """Return query and limit; raises `ValueError` in words that the model can act on."""
    arguments = as_dict(request["params"].get("input"))
    query = arguments.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("`query` must be a text that isn't empty")
    limit = arguments.get("limit", _HITS[request["params"]["name"]])
    if type(limit) is not int or not 1 <= limit <= _MOST_HITS:
        raise ValueError(f"`limit` must be a number from 1 to {_MOST_HITS}")
    return query, limit


def consent(request: dict[str, Any]) -> bytes:
    """Return the answer to a request for consent."""
    return _answer(request, {"result": "accept"})


def result(request: dict[str, Any], text: str, *, ok: bool) -> bytes:
    """Return the answer to an invocation."""
    return _answer(request, {"content": [{"value": text}], "status": "success" if ok else "error"})


def _answer(request: dict[str, Any], value: dict[str, Any]) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": request["id"], "result": [value, None]})


def _encode(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii")
