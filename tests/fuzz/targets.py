"""What reads bytes that strangers wrote, in Python, each as a function of bytes that raises where a promise is broken."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass

from carrel.frontends.chat_proxy.questions import conversation_in
from carrel.frontends.cli.assistants import jsonc
from carrel.frontends.common import json_splice
from carrel.frontends.common.transport import BadFrame, frame, read_frame
from carrel.frontends.common.uris import folder_path, join_uri, path_to_uri, relative_to, uri_to_path
from carrel.frontends.copilot.frames import Frame, FrameReader
from carrel.frontends.copilot.turns import turn_of
from carrel.model.errors import CarrelError
from carrel.pack.chat import question_of
from carrel.question import issue_text, query_words


@dataclass(frozen=True, slots=True)
class Target:
    """A reader of hostile bytes, and inputs to start from."""

    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]


def frames(data: bytes) -> None:
    """Messages of LSP: a good one after whatever came before is read, unless a length swallowed it."""
    stream = io.BytesIO(data + b"\n\n" + frame(b"[1]"))
    try:
        for _ in range(len(data) + 2):
            if read_frame(stream) is None:
                return
    except BadFrame:
        return
    raise AssertionError("more messages than bytes")


def proxied_frames(data: bytes) -> None:
    """What the Copilot proxy reads is what it gives, byte for byte."""
    read, write = os.pipe()
    try:
        os.write(write, data[:60_000])
        os.close(write)
        given = bytearray()
        for item in FrameReader(read):
            if isinstance(item, Frame):
                item.methods()
                given += item.raw
            else:
                given += b"".join(item)
        assert bytes(given) == data[:60_000]
    finally:
        os.close(read)


def splice(data: bytes) -> None:
    """A value that is found is changed alone."""
    value = json_splice.parse(data)
    path: list[str | int] = []
    for _ in range(20):
        span = json_splice.span_of(data, path) if value is not None else None
        if span is None:
            return
        new = json_splice.replaced(data, span, "n\ud83d")
        assert new[: span[0]] == data[: span[0]]
        assert new.endswith(data[span[1] :])
        changed = json.loads(new)
        for step in path:
            changed = changed[step]
        assert changed == "n\ud83d"
        if isinstance(value, dict) and value:
            path.append(next(iter(value)))
        elif isinstance(value, list) and value:
            path.append(len(value) - 1)
        else:
            return
        value = value[path[-1]]


def chat_requests(data: bytes) -> None:
    """The proxies change no byte but those of the question."""
    for address in ("/v1/chat/completions", "/api/chat", "/api/generate", "/v1/responses"):
        if conversation := conversation_in(address, data):
            texts = dict.fromkeys(conversation.messages, "CONTEXT")
            new = conversation.with_contexts(texts)
            assert b"CONTEXT" in new or not question_of(conversation.question) or not question_of(conversation.text)
            assert new.count(b"CONTEXT") - data.count(b"CONTEXT") <= len(texts)
            assert json.loads(new) is not None
            assert new[:1] == data[:1]
    if turn := turn_of(data):
        assert json.loads(turn.with_text("CONTEXT")) is not None


def agent_requests(data: bytes) -> None:
    """What an agent sent is there in the same order when the added blocks are taken out, and its marks are as many."""
    for session in ("s", None):
        conversation = conversation_in("/v1/messages", data, session)
        if conversation is None:
            continue
        placed = conversation.spans(conversation.messages)
        assert conversation.messages[-1] in placed
        new = conversation.with_contexts(dict.fromkeys(conversation.messages, "CONTEXT"))
        block = b',{"type":"text","text":"CONTEXT"}'
        assert new.count(block) - data.count(block) == len(placed)
        assert new.count(b"cache_control") == data.count(b"cache_control")
        before, after = json.loads(data), json.loads(new)
        for message in placed:
            content = after["messages"][message.at]["content"]
            assert content.pop(next(at for at, part in enumerate(content) if part == json.loads(block[1:]))) is not None
            if message.path == ("content",):
                assert content == [{"type": "text", "text": message.text}]
                after["messages"][message.at]["content"] = message.text
        # As texts, because NaN is unlike itself.
        assert json.dumps(after) == json.dumps(before)


def comments(data: bytes) -> None:
    """An entry goes into a file of JSON with comments and out again; the file is as it was."""
    text = data.decode("utf-8", "replace")
    entry = {"command": "carrel"}
    try:
        before = jsonc.parse(text).value
        installed = jsonc.put(text, ("servers", "carrel"), entry)
    except (jsonc.BadJson, CarrelError):
        return
    after = jsonc.parse(installed).value
    assert after["servers"]["carrel"] == entry
    assert {key: after[key] for key in before if key != "servers"} == {key: before[key] for key in before if key != "servers"}
    had = before.get("servers")
    if had is None or (had and "carrel" not in had):
        dropped = jsonc.drop(installed, ("servers", "carrel"))
        assert jsonc.parse(dropped).value == before


def uris(data: bytes) -> None:
    """No URI or path is an end, and a path that is read is written alike."""
    text = data.decode("utf-8", "surrogateescape")
    for windows in (False, True):
        for given in (text, "file://" + text, "file:///" + text):
            path = uri_to_path(given, windows=windows)
            if path is None or any("\udc80" > c >= "\ud800" for c in path):
                continue
            again = uri_to_path(path_to_uri(path, windows=windows), windows=windows)
            # Half a character beside a percent sign may become a whole one.
            assert again == path or not text.isprintable(), (given, path, again)
            inner = relative_to("C:\\w" if windows else "/w", path, windows=windows, ignore_case=windows)
            assert inner is None or ".." not in inner.split("/")
    if all(not "\ud800" <= c < "\udc80" for c in text):
        folder_path(text, windows=False)
        join_uri("file:///w", text)


def questions(data: bytes) -> None:
    """A question of any text is read, in time."""
    text = data.decode("utf-8", "replace")
    query_words.read(text)
    issue_text.read(text)
    question_of(text)


TARGETS = {
    "frames": Target(
        frames,
        (
            frame(b"{}"),
            b"content-length: 2\r\nContent-Type: x\r\n\r\n{}",
            b"Content-Length: 9\r\n\r\n" + frame(b"[]"),
            b"\0" + frame(b"[0]"),
        ),
    ),
    "proxied_frames": Target(
        proxied_frames, (frame(b'{"method": "a/b", "id": 1}') * 2, b"Content-Length: 999999999\r\n\r\n{}", b"X: 1\r\n\r\n")
    ),
    "splice": Target(
        splice, (b'{"a": [1, {"b": "x\\"]}"}], "c": 1e999, "\\ud83d": null}', b'[["\\u00e9", {"a": {"a": 1}}]]', b' "x" ')
    ),
    "chat_requests": Target(
        chat_requests,
        (
            b'{"model": "m", "messages": [{"role": "user", "content": "how does /login work?"}]}',
            b'{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "why \\ud83d"}]}], "n": 1e999}',
            b'{"model": "m", "prompt": "how?", "input": [{"role": "user", "content": "x"}]}',
            b'{"jsonrpc":"2.0","method":"conversation/turn","id":7,"params":{"message":"how?","references":[]}}',
        ),
    ),
    "agent_requests": Target(
        agent_requests,
        (
            (
                b'{"system": [{"type": "text", "text": "x"}], "tools": [{"name": "Read"}], "messages": ['
                b'{"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, '
                b'{"type": "text", "text": "how?"}]}, '
                b'{"role": "system", "content": "y"}, '
                b'{"role": "assistant", "content": [{"type": "thinking", "signature": "a="}]}, '
                b'{"role": "user", "content": [{"type": "tool_result", "content": "1"}]}, '
                b'{"role": "user", "content": "why \\ud83d"}]}'
            ),
            b'{"tools":[1],"messages":[{"role":"user","content":[{"type":"text","text":"how?","cache_control":{"type":"x"}}]}]}',
        ),
    ),
    "comments": Target(
        comments,
        (
            b'// a\n{\n  "a": 1, // b\n  "servers": {\n    "x": {"y": [1, 2,],},\n    /* c */\n  },\n}\n',
            b'{"servers": {}}',
            b'\t{ "a" : "}//" }\r\n',
        ),
    ),
    "uris": Target(
        uris, (b"file:///c%3A/a%20b/../x.py", b"//server/share/\xc3\xa9", b"/w/a%2f..%2fb?x#y", b"C:/x/..%5c..", b"\xff")
    ),
    "questions": Target(
        questions,
        (
            b"where is getUserByID checked? `os.path.join`",
            b"fix(parser): Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'x'\n```\ncode\n```",
            b"at com.x.A.b(A.java:12)\n    at c (d.js:1:2)\npanicked at src/a.rs:1:2:\n#0 0x1 in f() a.c:3\nA::b->c",
        ),
    ),
}
