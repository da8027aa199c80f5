"""The tool that agents' hooks call before each prompt: `prompt_context`, which models don't see.

Claude Code and Codex fill in the prompt, its folder, the transcript and the session, and take the tool's text for a hook's JSON.
Whatever fails, the prompt goes on: the text is `{}` then.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from msgspec import Struct

from carrel.frontends.common.agent_hooks import AGENT_HOOKS
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.transcripts import read_transcript
from carrel.frontends.mcp.folders import Folders
from carrel.model.caller import Caller, called_by
from carrel.model.errors import InvalidInput
from carrel.model.structs import decode
from carrel.service.prompt_context import Prompt, PromptContexts

PROMPT_CONTEXT = "prompt_context"

_HOOK = AGENT_HOOKS["claude-code"]
"""Codex takes the same."""
_FIRST_MS = 5_000
"""The agent starts this server with itself, so its first prompt often comes while everything is loaded; it waits 10 s at most."""


class _Request(Struct, frozen=True):
    prompt: str = ""
    folder: str = ""
    transcript: str = ""
    session: str = ""


class PromptHook:
    """Answers hooks over the folders of one connection."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._contexts = PromptContexts(_FIRST_MS)
        self._switch: ContextSwitch | None = None

    async def answer(self, raw: Any, caller: Caller) -> str:
        """Return the hook's JSON; an empty object for a folder that isn't open."""
        try:
            request = decode(_Request, raw)
        except InvalidInput:
            return "{}"
        workspace = self._folders.holding(request.folder)
        if workspace is None:
            return "{}"
        if self._switch is None:
            self._switch = ContextSwitch()
        self._folders.switch_context(on=self._switch.on)
        said = await asyncio.to_thread(read_transcript, request.transcript, request.prompt)
        prompt = Prompt(request.prompt, request.session, said.turns, said.compacted, _HOOK.form, _HOOK.most_bytes)
        with called_by(Caller(caller.entry, f"{caller.name} {request.session[:8]}".strip())):
            addition = await self._contexts.addition(workspace, prompt)
        return json.dumps(_HOOK.answer(addition))
