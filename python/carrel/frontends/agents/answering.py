"""Read what a hook's JSON asks for, and answer in its agent's form."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec

from carrel.composition.composition import Composition
from carrel.frontends.common.agent_hooks import AGENT_HOOKS
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.transcripts import read_transcript
from carrel.frontends.common.uris import longest_match, path_to_uri
from carrel.model.caller import Caller, called_by
from carrel.policy.audit import AuditTrail
from carrel.policy.broad_folders import breadth
from carrel.service.prompts.prompt_context import Prompt, PromptContexts
from carrel.service.session import Session
from carrel.service.workspace import Workspace

MOST_FOLDERS = 8
"""Folders that are open at a time: each is watched."""


class Answering:
    """The folders of all hooks, and what their sessions were given. Lives on one event loop."""

    def __init__(self) -> None:
        self._switch = ContextSwitch()
        self._session = Session(Composition(audit=AuditTrail(Caller("agent hook"))), longest_match)
        self._session.configure(self._switch.options)
        self._contexts = PromptContexts()
        self._used: OrderedDict[str, None] = OrderedDict()

    async def answer(self, agent: str, raw: bytes) -> dict[str, Any]:
        """Return what the hook prints; an empty object where there is nothing to add, or nothing to understand."""
        hook = AGENT_HOOKS.get(agent)
        try:
            asked = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            return {}
        if hook is None or not isinstance(asked, dict) or not self._is_on():
            return {}
        text, folder = _text(asked, "prompt"), project_of(_text(asked, "cwd"))
        if folder is None:
            return {}
        session = _text(asked, "session_id") or _text(asked, "sessionId")
        said = await asyncio.to_thread(read_transcript, _text(asked, "transcript_path"), text)
        prompt = Prompt(text, f"{agent} {session}" if session else "", said.turns, said.compacted, hook.form, hook.most_bytes)
        with called_by(Caller("agent hook", f"{agent} {session[:8]}".strip())):
            return hook.answer(await self._contexts.addition(self._workspace(folder), prompt))

    async def close(self) -> None:
        """Release the indexes."""
        await self._session.close()

    def _is_on(self) -> bool:
        on = self._switch.on
        if self._switch.changed():
            self._session.configure(self._switch.options)
        return on

    def _workspace(self, folder: Path) -> Workspace:
        """Return the open folder, the ones that were used longest ago closed."""
        key = str(folder)
        known = key in self._session.folders
        workspace = self._session.add_folder(key, path_to_uri(key), broad="refused")
        if not known:
            self._session.start(workspace)
        self._used[key] = None
        self._used.move_to_end(key)
        while len(self._used) > MOST_FOLDERS:
            self._session.remove_folder(self._used.popitem(last=False)[0])
        return workspace


def project_of(folder: str) -> Path | None:
    """Return the repository that a folder lies in, else the folder; None for what is no project, such as a home folder.

    Nothing is started for it: git would take longer than the search.
    """
    path = Path(folder)
    if "\0" in folder or ".." in path.parts or not path.is_absolute() or not path.is_dir() or breadth(path):
        return None
    top = next((place for place in (path, *path.parents) if (place / ".git").exists()), path)
    return path if top != path and breadth(top) else top


def _text(asked: dict[str, Any], name: str) -> str:
    value = asked.get(name)
    return value if isinstance(value, str) else ""
