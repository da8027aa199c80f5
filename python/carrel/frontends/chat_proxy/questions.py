"""Places of the user's words in the bodies of the known APIs, and the conversation that they are of.

Pure functions; what isn't understood isn't touched.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from carrel.frontends.chat_proxy import anthropic_messages
from carrel.frontends.chat_proxy.conversation import Conversation, UserMessage, counted, digested, instructs
from carrel.frontends.common import json_splice
from carrel.frontends.common.transcripts import text_of, text_parts, words_of
from carrel.model.conversation import Message, Role
from carrel.model.patterns import lazy_pattern

MESSAGES = "/v1/messages"
ENDPOINTS = {
    "/chat/completions": "messages",
    "/responses": "input",
    MESSAGES: anthropic_messages.FIELD,
    "/api/chat": "messages",
    "/api/generate": "prompt",
}
"""End of the path, and the field that holds the conversation."""

_SPEAKERS: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_TEXT = ("text", "input_text")
_REMINDER = 80
"""Fewer characters that also stand in the system prompt are a coincidence."""
_CHORE = "### Task:"
"""So begin the requests by which Open WebUI has titles, tags and follow-ups made: no person asks them."""
_PARAGRAPH = lazy_pattern("\n\n")
_IDENTIFYING = ("instructions", "system", "conversation", "previous_response_id", "prompt_cache_key", "user", "context")
"""Fields that tell conversations apart whose messages are the same, or that stand for messages which aren't sent again."""


def field_of(path: str) -> str | None:
    """Return the field that holds the conversation, if this path is a known endpoint."""
    return next((field for end, field in ENDPOINTS.items() if path.rstrip("/").endswith(end)), None)


def is_anthropic(path: str) -> bool:
    """Tell whether this is the path of Anthropic's messages."""
    return path.rstrip("/").endswith(MESSAGES)


def conversation_in(path: str, raw: bytes, session: str | None = None) -> Conversation | None:
    """Return the conversation in the body of a request to `path`; None where it isn't understood or holds no words of a user.

    `session` is the name that an agent gives to all requests of a session.
    """
    field = field_of(path)
    body = json_splice.parse(raw) if field else None
    if not isinstance(body, dict) or field is None:
        return None
    if is_anthropic(path):
        return anthropic_messages.prompts_in(raw, body, session)
    content = body.get(field)
    whole = isinstance(content, str)
    # Raw prompts and code to be filled in are no questions; a context would only be continued.
    if whole and (field == "messages" or (field == "prompt" and (body.get("raw") or body.get("suffix")))):
        return None
    messages = [{"role": "user", "content": content}] if whole else content if isinstance(content, list) else []
    try:
        keys = _keys(body, field, messages)
    except RecursionError:
        return None
    prompts, question = list[UserMessage](), ""
    for at, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            words = words_of(message.get("content"), _TEXT)
            question = words[2] if words else ""
            if words:
                said = (later for later in range(at + 1, len(messages)) if not instructs(messages[later]))
                followed = next((keys[later] for later in said), None)
                place: tuple[str | int, ...] = (field,) if whole else ("content", *words[0])
                prompts.append(UserMessage(place, words[1], at, keys[at], followed))
    if not prompts:
        return None
    before = [] if whole else messages
    items = [] if whole else json_splice.item_spans(raw, (field,))
    conversation = Conversation(raw, body, field, items, tuple(prompts), _own_words(question, body, before), _history(before))
    return conversation if conversation.spans(prompts[-1:]) else replace(conversation, question="")


def _keys(body: dict[str, Any], field: str, messages: Sequence[Any]) -> list[str]:
    """Return for each message a hash of the conversation up to it."""
    digest = digested(b"", [field, *(body.get(name) for name in _IDENTIFYING)])
    keys = []
    for message in messages:
        digest = digested(digest, counted(message))
        keys.append(digest.hex())
    return keys


def _history(messages: Sequence[Any]) -> tuple[Message, ...]:
    """Return what the two who speak said before the last message of the user."""
    said: list[Message] = []
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if isinstance(role, str) and role in _SPEAKERS:
            said.append(Message(_SPEAKERS[role], text_of(message.get("content"), _TEXT)))
    last = max((at for at, message in enumerate(said) if message.role == "user"), default=0)
    return tuple(message for message in said[:last] if message.text.strip())


def _own_words(text: str, body: dict[str, Any], messages: Sequence[Any]) -> str:
    """Return the text without what the program appends to it: Aider repeats the end of its system prompt there."""
    if text.startswith(_CHORE):
        return ""
    instructions = _instructions(body, messages)
    start = max(len(text) - len(instructions) - _REMINDER, 0)
    ends = [found.start() for found in _PARAGRAPH.finditer(text, start)]
    # Whatever is behind an end that is repeated is repeated too, so few must be looked for.
    first = bisect_left(ends, True, key=lambda at: text[at:].strip() in instructions)
    at = ends[first] if first < len(ends) else len(text)
    return text[:at] if len(text[at:].strip()) >= _REMINDER else text


def _instructions(body: dict[str, Any], messages: Sequence[Any]) -> str:
    """Return what the model is told before the conversation."""
    texts = [body.get("instructions"), body.get("system")]
    for message in messages:
        if instructs(message):
            content = message.get("content")
            texts += [content] if isinstance(content, str) else [text for _, text in text_parts(content, _TEXT)]
    return "\n\n".join(text for text in texts if isinstance(text, str))
