"""Prompts in the bodies of Anthropic's `/v1/messages`, as terminal agents send them.

An agent sends the whole conversation with each request. Between its prompts stand reminders, outputs of commands and results
of tools, all of them as messages of the user; titles and summaries are requests of the same shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carrel.frontends.chat_proxy.conversation import Conversation, UserMessage, counted, digested, instructs
from carrel.frontends.common import json_splice
from carrel.frontends.common.transcripts import text_of, text_parts
from carrel.model.conversation import Message
from carrel.model.patterns import lazy_pattern
from carrel.model.plain_data import as_list, inner

FIELD = "messages"
_TAG = lazy_pattern(r"\s*<(system-reminder|command-[a-z-]+|local-command-[a-z-]+)>")
"""So begins what the agent itself puts between the words of its user."""
_NOTES = (
    "CRITICAL: Respond with TEXT ONLY",  # the request for a summary of the conversation
    "This session is being continued from a previous conversation",  # that summary
    "[Request interrupted by user",
)
"""So begin its texts that have no element around them."""
_Path = tuple[str | int, ...]


def prompts_in(raw: bytes, body: dict[str, Any], session: str | None) -> Conversation | None:
    """Return the conversation of an agent; None where the request is for a title or the like, or holds no words of a user.

    In a `session` a prompt is known by its text and those before it: the rest of the conversation may be written differently
    in the next request. Without one it is known by all messages up to it.
    """
    messages = body.get(FIELD)
    if not isinstance(messages, list) or not body.get("tools") or _wants_json(body):
        return None
    try:
        prompts = _prompts(messages, _start(body, session), whole=not session)
    except RecursionError:
        return None
    if not prompts:
        return None
    newest, items = prompts[-1], json_splice.item_spans(raw, (FIELD,))
    question = "" if newest.followed_key else _own_words(newest.text)
    conversation = Conversation(
        raw, body, FIELD, items, tuple(prompts), question, _history(messages[: newest.at]), in_blocks=True
    )
    return conversation if conversation.spans([newest]) else None


def _wants_json(body: Mapping[str, Any]) -> bool:
    config = body.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else body.get("output_format")
    return bool(inner(wanted, "type") == "json_schema")


def _start(body: Mapping[str, Any], session: str | None) -> bytes:
    return digested(b"", [FIELD, session] if session else [FIELD, counted({"content": body.get("system")}), body.get("metadata")])


def _prompts(messages: Sequence[Any], digest: bytes, *, whole: bool) -> list[UserMessage]:
    """Return the texts that are or were a prompt, oldest first; with `whole` their keys are of all messages."""
    said: list[tuple[_Path, Any, int]] = []
    for at, message in enumerate(messages):
        if texts := list(_texts(message)):
            said += [(path, text, at) for path, text in texts]
        elif not (instructs(message) or _is_of_the_agent(message)):
            said.append(((), counted(message), at))
    prompts = []
    for (path, value, at), following in zip(said, [*said, None][1:], strict=True):
        if path or whole:
            digest = digested(digest, value)
        if path:
            followed = digested(digest, following[1]).hex() if following else None
            prompts.append(UserMessage(path, value, at, digest.hex(), followed))
    return prompts


def _texts(message: Any) -> Iterator[tuple[_Path, str]]:
    """Yield the words of a user in a message with their places; none where it brings the result of a tool."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return
    content = message.get("content")
    if isinstance(content, str):
        texts: list[tuple[_Path, str]] = [(("content",), content)]
    elif any(isinstance(part, dict) and part.get("type") == "tool_result" for part in as_list(content)):
        return
    else:
        texts = [(("content", at, "text"), text) for at, text in text_parts(content, ("text",))]
    for path, text in texts:
        if _own_words(text):
            yield path, text


def _own_words(text: str) -> str:
    """Return a text without the elements of the agent before it; empty where nothing else is in it."""
    at = 0
    while element := _TAG.match(text, at):
        closing = f"</{element[1]}>"
        end = text.find(closing, element.end())
        if end < 0:
            return ""
        at = end + len(closing)
    words = text[at:].strip()
    return "" if words.startswith(_NOTES) else words


def _is_of_the_agent(message: Any) -> bool:
    """Tell whether a message of the user is nothing but elements of the agent, which may come and go."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return False
    content = message.get("content")
    return isinstance(content, str) or all(isinstance(part, dict) and part.get("type") == "text" for part in as_list(content))


def _history(messages: Sequence[Any]) -> tuple[Message, ...]:
    """Return what the two who speak said."""
    said: list[Message] = []
    for message in messages:
        if texts := list(_texts(message)):
            said.append(Message("user", "\n".join(_own_words(text) for _, text in texts)))
        elif isinstance(message, dict) and message.get("role") == "assistant":
            said.append(Message("assistant", text_of(message.get("content"), ("text",))))
    return tuple(message for message in said if message.text.strip())
