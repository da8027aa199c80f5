"""The tools that the Copilot Language Server offers to its agent and the proxy answers itself."""

from __future__ import annotations

import json
from typing import Any

from carrel.agent import knowledge_form

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
    message = _parse(body)
    return message.get("id") == REGISTER_ID and "method" not in message


def invocation(body: bytes) -> dict[str, Any] | None:
    """Return the request if it is about one of these tools; the client answers for its own."""
    message = _parse(body)
    params = message.get("params")
    ours = message.get("method") in METHODS and isinstance(params, dict) and params.get("name") in (SEARCH, KNOWLEDGE)
    return message if ours and type(message.get("id")) in (int, str) else None


def needs_search(request: dict[str, Any]) -> bool:
    """Return false when only a consent is asked for: searching reads what the chat may see anyway, so nobody is asked."""
    return bool(request["method"] == _INVOKE)


def question(request: dict[str, Any]) -> tuple[str, int]:
    """Return query and limit; raises `ValueError` in words that the model can act on."""
    given = request["params"].get("input")
    query = given.get("query") if isinstance(given, dict) else None
    if not isinstance(query, str) or not query.strip():
        raise ValueError("`query` must be a text that isn't empty")
    limit = given.get("limit", _HITS[request["params"]["name"]])
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


def _parse(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _encode(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii")
