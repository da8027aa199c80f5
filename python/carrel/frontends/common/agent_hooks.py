"""The hooks of agents in a terminal: what each takes beside a prompt, and the form in which it wants it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from carrel.pack.formats import Form
from carrel.service.prompt_context import WITH_TAGS, WITHOUT_TAGS, Addition

CUT = 9_500
"""Claude Code and Codex show the model a part of what is longer than 10,000 characters, or bytes."""


class AgentHook(Struct, frozen=True):
    """An agent's hook. Without an event the context stands in the answer's outermost object."""

    event: str | None
    form: Form = WITH_TAGS
    most_bytes: int | None = None
    shows_line: bool = False

    def answer(self, addition: Addition) -> dict[str, Any]:
        """Return what the hook prints; an empty object says that there is nothing to add."""
        answer: dict[str, Any] = {}
        if addition.text and self.event:
            answer["hookSpecificOutput"] = {"hookEventName": self.event, "additionalContext": addition.text}
        elif addition.text:
            answer["additionalContext"] = addition.text
        if addition.line and self.shows_line:
            answer["systemMessage"] = addition.line
        return answer


AGENT_HOOKS = {
    "claude-code": AgentHook("UserPromptSubmit", most_bytes=CUT, shows_line=True),
    "codex": AgentHook("UserPromptSubmit", most_bytes=CUT, shows_line=True),
    "copilot": AgentHook(None),
    "gemini": AgentHook("BeforeAgent", WITHOUT_TAGS),
    "opencode": AgentHook(None),
    "qwen": AgentHook("UserPromptSubmit", WITHOUT_TAGS),
}
"""By the names that `carrel-hook` takes."""
