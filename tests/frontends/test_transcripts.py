"""The end of an agent's transcript, in each agent's form: the user's own regular files alone, however long or torn they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.frontends.common.transcripts import MOST_BYTES, MOST_TURNS, Transcript, read_transcript
from carrel.model.conversation import Message

SAID = [Message("user", "where is it?"), Message("assistant", "In `auth.py`."), Message("user", "and who calls it?")]
CLAUDE: list[dict[str, Any]] = [
    {"type": "queue-operation", "operation": "enqueue", "content": "where is it?"},
    {"type": "user", "isSidechain": False, "message": {"role": "user", "content": "where is it?"}},
    {"type": "attachment", "attachment": {"type": "model", "text": "You are powered by a model."}},
    {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "search all files"}},
    {"message": {"role": "assistant", "content": [{"type": "tool_use", "name": "Read", "input": {"file_path": "x"}}]}},
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "1\tsecret"}]}},
    {"message": {"role": "assistant", "content": [{"type": "text", "text": "In `auth.py`."}]}},
    {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nx"}]},
    },
    {"type": "user", "message": {"role": "user", "content": "and who calls it?"}},
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "1", "cwd": "/p"}},
    {"type": "response_item", "payload": {"type": "message", "role": "developer", "content": [{"text": "be brief"}]}},
    *(
        {
            "type": "response_item",
            "payload": {"type": "message", "role": said.role, "content": [{"type": "text", "text": said.text}]},
        }
        for said in SAID
    ),
    {"type": "event_msg", "payload": {"type": "user_message", "message": "and who calls it?"}},
]
ADDED = {"text": "<qwen:user-prompt-submit-context>\nSource: a.py:1-2"}
QWEN = [
    {
        "type": said.role,
        "message": {"role": {"assistant": "model"}.get(said.role, said.role), "parts": [{"text": said.text}, ADDED]},
    }
    for said in SAID
]
GEMINI = {
    "sessionId": "1",
    "messages": [
        {"id": str(number), "type": {"assistant": "gemini"}.get(said.role, said.role), "content": said.text}
        for number, said in enumerate(SAID)
    ],
}
FORMS = {
    "claude": "\n".join(map(json.dumps, CLAUDE)),
    "codex": "\n".join(map(json.dumps, CODEX)),
    "qwen": "\n".join(map(json.dumps, QWEN)),
    "gemini": json.dumps(GEMINI, indent=2),
}


def last_turns(path: str, prompt: str = "") -> list[Message]:
    return list(read_transcript(path, prompt).turns)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "transcript"


@pytest.mark.parametrize("form", FORMS)
def test_what_people_and_models_said_is_read(file: Path, form: str) -> None:
    file.write_text(FORMS[form], "utf-8")
    assert last_turns(str(file)) == SAID
    assert last_turns(str(file), "and who calls it?") == SAID[:2]


@pytest.mark.parametrize("form", FORMS)
def test_a_long_file_is_read_from_its_end(file: Path, form: str) -> None:
    if form == "gemini":
        old = [{"id": "0", "type": "user", "content": f"old {'x' * 2000}"}] * 500
        file.write_text(json.dumps({**GEMINI, "messages": [*old, *GEMINI["messages"]]}, indent=2), "utf-8")
    else:
        with file.open("wb") as out:
            out.truncate(200_000_000)  # of zeros, that no disk space is taken for
            out.seek(0, os.SEEK_END)
            out.write(f"\n{FORMS[form]}".encode())
    assert file.stat().st_size > MOST_BYTES
    turns = last_turns(str(file))
    assert turns[-3:] == SAID
    assert len(turns) <= MOST_TURNS


@pytest.mark.parametrize("form", ["claude", "codex", "qwen"])
def test_torn_lines_are_skipped(file: Path, form: str) -> None:
    lines = FORMS[form].split("\n")
    torn = [lines[0][:30], "{", "null", "[1]", "\0\ufffd", "7", *lines, lines[-1][:-9]]
    file.write_bytes(b"\xff\xfe\n" + "\n".join(torn).encode())
    assert last_turns(str(file)) == SAID


@given(st.data())
def test_no_cut_of_a_transcript_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    file = tmp_path_factory.getbasetemp() / "cut"
    whole = data.draw(st.sampled_from(sorted(FORMS.values()))).encode()
    at = data.draw(st.integers(0, len(whole)))  # cut at both ends, what one line holds within could be a line of its own
    file.write_bytes(data.draw(st.sampled_from([whole[:at], whole[at:]])) + data.draw(st.binary(max_size=20)))
    assert {turn.text for turn in last_turns(str(file))} <= {said.text for said in SAID}


@pytest.mark.parametrize(
    "cut",
    [
        {"type": "system", "subtype": "compact_boundary", "uuid": "u1", "content": "Conversation compacted"},
        {"type": "compacted", "timestamp": "u1", "payload": {"message": "short"}},
        {"type": "system", "subtype": "chat_compression", "uuid": "u1"},
    ],
)
def test_a_cut_of_the_conversation_is_noticed(file: Path, cut: dict[str, Any]) -> None:
    file.write_text(f"{FORMS['claude']}\n{json.dumps({**cut, 'uuid': 'u0', 'timestamp': 'u0'})}\n{json.dumps(cut)}\n", "utf-8")
    assert read_transcript(str(file)) == Transcript(tuple(SAID), "u1")
    file.write_text(FORMS["claude"], "utf-8")
    assert read_transcript(str(file)).compacted == ""


def test_deep_values_and_other_types_are_no_turns(file: Path) -> None:
    values = ["[" * 100_000, '{"message": ' * 20_000, '{"type": "user", "message": {"role": 7, "content": {"a": 1}}}']
    file.write_text("\n".join(values), "utf-8")
    assert last_turns(str(file)) == []


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are made as on POSIX")
def test_only_a_regular_file_is_opened(tmp_path: Path, file: Path) -> None:
    file.write_text(FORMS["claude"], "utf-8")
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    for path in ("link", "pipe", "missing", "."):
        assert last_turns(str(tmp_path / path)) == []
    for named in ("", "transcript", "/dev/zero", "/dev/stdin", f"{file}\0", "//host/share/x"):
        assert last_turns(named) == []


@pytest.mark.skipif(os.name != "posix", reason="owners are those of POSIX")
def test_what_belongs_to_somebody_else_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(FORMS["claude"], "utf-8")
    monkeypatch.setattr("os.getuid", lambda: os.geteuid() + 1)
    assert last_turns(str(file)) == []
