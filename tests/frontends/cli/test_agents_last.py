"""What `carrel agents last` shows: what hooks added to prompts, and nothing else of the audit log."""

from __future__ import annotations

import json
import time

from tests.frontends.cli.conftest import Run

from carrel.model.ports import AuditEvent
from carrel.policy.audit import open_log
from carrel.settings.allow_settings import AuditSettings


def context(caller: str, trigger: str, places: int) -> AuditEvent:
    details = {"caller": caller, "trigger": trigger, "folder": "/p", "tokens": 1363, "places": [{"path": "a.py"}] * places}
    return AuditEvent("context", time.time(), "me", details)


def test_the_last_additions_are_shown_without_other_contexts(run: Run) -> None:
    code, out, err = run("agents", "last")
    assert (code, out) == (0, "")
    assert "Nothing was added" in err
    log = open_log(AuditSettings)
    for caller, trigger, places in (
        ("agent hook: codex 0192ab3c", "chat", 5),
        ("agent hook: codex 0192ab3c", "chat", 0),
        ("mcp: claude-code 5d1e", "chat", 2),
        ("mcp: claude-code", "explicit", 3),
        ("chat proxy", "chat", 3),
    ):
        log.record(context(caller, trigger, places))
    log.flush()
    _, out, _ = run("agents", "last")
    assert [line.split("  ", 1)[1] for line in out.splitlines()] == [
        "codex  0192ab3c  5 places, 1,363 tokens",
        "claude-code  5d1e  2 places, 1,363 tokens",
    ]
    found = json.loads(run("agents", "last", "--json")[1])
    assert [(one["agent"], one["places"]) for one in found] == [("claude-code", 2), ("codex", 5)]
