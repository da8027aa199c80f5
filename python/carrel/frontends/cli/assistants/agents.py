"""Agents, as data: the hook or rule of each beside its MCP entry, and what it asks a person to trust."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from carrel.frontends.cli.assistants.clients import CLIENTS, NAME, Scope, System, command_of, configuration, user_path
from carrel.frontends.cli.assistants.edits import Edit, Entry, Item, Table, Whole
from carrel.frontends.mcp.server_info import INSTRUCTIONS
from carrel.model.plain_data import inner

HOOK = {
    "type": "mcp_tool",
    "server": NAME,
    "tool": "prompt_context",
    "input": {"prompt": "${prompt}", "folder": "${cwd}", "transcript": "${transcript_path}", "session": "${session_id}"},
    "timeout": 10,
}
"""The hook of Claude Code and Codex: it asks the server that already runs."""

_SECONDS = 10
_PROGRAM = "carrel-hook"


class Agent(Struct, frozen=True):
    """One agent. Its hook is in a file of the user's, and in one of a folder; `hook` makes it from the command.

    An editor's agent has a rule in place of a hook, and `user` is empty where there is no file for one of the user's.
    """

    title: str
    client: str
    program: str
    folder: str
    user: str
    workspace: str
    hook: Callable[[str], Edit]
    trust: str = ""
    trust_workspace: str = ""
    starts_program: bool = True
    """False where the hook asks the running MCP server, and for a rule."""
    beside: Literal["the hook", "the rule"] = "the hook"
    only_by_name: bool = False
    """Leave it out where all agents that are here are meant: it was not tried."""


def _group(event: str, hook: Callable[[str], dict[str, Any]]) -> Callable[[str], Edit]:
    return lambda command: Item(("hooks", event), {"hooks": [hook(command)]}, _is_group)


def _command_hook(agent: str) -> Callable[[str], dict[str, Any]]:
    return lambda program: {
        "name": NAME,
        "type": "command",
        "command": f'"{program}" {agent}',
        "timeout": _SECONDS * 1000,
    }


def _is_group(item: Any) -> bool:
    hooks = inner(item, "hooks")
    return isinstance(hooks, list) and bool(hooks) and all(map(_is_hook, hooks))


def _is_hook(hook: Any) -> bool:
    if not isinstance(hook, dict):
        return False
    asks_server = hook.get("server") == NAME and hook.get("tool") == HOOK["tool"]
    return asks_server or _PROGRAM in str(hook.get("command"))


def copilot_hooks(program: str) -> str:
    """Return Copilot CLI's own file of hooks."""
    command = f'"{program}" copilot'
    hook = {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": _SECONDS}
    return json.dumps({"version": 1, "hooks": {"userPromptSubmitted": [hook]}}, indent=2, ensure_ascii=False) + "\n"


def opencode_plugin(program: str) -> str:
    """Return opencode's plugin."""
    text = files(__package__).joinpath("carrel.js").read_text("utf-8")
    return text.replace(json.dumps(_PROGRAM), json.dumps(program, ensure_ascii=False), 1)


def _whole(text: Callable[[str], str]) -> Callable[[str], Edit]:
    """Make the edit of a file that holds nothing else: it is install's where it differs by no more than the program's path."""
    written = re.compile(r'(?:[^"\\\n]|\\.)*'.join(map(re.escape, text(_PROGRAM).split(_PROGRAM))))
    return lambda program: Whole(text(program), lambda standing: written.fullmatch(standing) is not None)


def _rule(head: str) -> Callable[[str], Edit]:
    """Make a rule that is always read, and says when to ask the server."""
    beginning = f"---\n{head}\n---\nBefore you search this project, think of the MCP server `{NAME}`. "

    def is_of_some_version(standing: str) -> bool:
        head, _, instructions = standing.replace("\r\n", "\n").partition(beginning)
        return not head and bool(instructions) and "\n" not in instructions.rstrip("\n")

    return lambda _: Whole(f"{beginning}{INSTRUCTIONS}\n", is_of_some_version)


def _editor(title: str, client: str, program: str, folder: str, rule: str, head: str) -> Agent:
    """Describe an editor's agent, none of whose hooks can add context to a prompt, by its documentation."""
    asks = f"{title} adds no context to a prompt by itself: its agent asks the MCP server"
    return Agent(
        title,
        client,
        program,
        folder,
        "",
        rule,
        _rule(head),
        f"{asks}. A rule that reminds it is written with --workspace.",
        f"{asks}, of which the rule reminds it.",
        starts_program=False,
        beside="the rule",
        only_by_name=True,
    )


AGENTS: dict[str, Agent] = {
    "claude-code": Agent(
        "Claude Code",
        "claude",
        "claude",
        "{claude_settings}",
        "{claude_settings}/settings.json",
        ".claude/settings.json",
        _group("UserPromptSubmit", lambda _: HOOK),
        "",
        "Start `claude` in the folder once and approve the server carrel; until then its hook has nobody to ask.",
        starts_program=False,
    ),
    "codex": Agent(
        "Codex",
        "codex",
        "codex",
        "{codex}",
        "{codex}/hooks.json",
        ".codex/hooks.json",
        _group("UserPromptSubmit", lambda _: HOOK),
        "Start `codex`, type /hooks and trust Carrel's; until then Codex skips it without a word.",
        "Start `codex` in the folder, trust the folder, then type /hooks and trust Carrel's; until then Codex skips it.",
        starts_program=False,
    ),
    "gemini": Agent(
        "Gemini CLI",
        "gemini",
        "gemini",
        "{gemini}/.gemini",
        "{gemini}/.gemini/settings.json",
        ".gemini/settings.json",
        _group("BeforeAgent", _command_hook("gemini")),
        "",
        "Gemini CLI runs it once the folder is trusted.",
    ),
    "copilot": Agent(
        "Copilot CLI",
        "copilot-cli",
        "copilot",
        "{copilot}",
        "{copilot}/hooks/carrel.json",
        ".github/hooks/carrel.json",
        _whole(copilot_hooks),
        "",
        "Copilot CLI runs it once the folder is trusted.",
    ),
    "opencode": Agent(
        "opencode",
        "opencode",
        "opencode",
        "{config}/opencode",
        "{config}/opencode/plugin/carrel.js",
        ".opencode/plugin/carrel.js",
        _whole(opencode_plugin),
    ),
    "qwen": Agent(
        "Qwen Code",
        "qwen",
        "qwen",
        "{qwen}",
        "{qwen}/settings.json",
        ".qwen/settings.json",
        _group("UserPromptSubmit", _command_hook("qwen")),
    ),
    "cursor": _editor("Cursor", "cursor", "cursor", "{home}/.cursor", ".cursor/rules/carrel.mdc", "alwaysApply: true"),
    "vscode": _editor("VS Code", "vscode", "code", "{vscode}", ".github/instructions/carrel.instructions.md", 'applyTo: "**"'),
}


class Place(Struct, frozen=True):
    """The place of files: the user's own, or a folder's."""

    scope: Scope
    folder: str
    env: Mapping[str, str]
    home: str

    @property
    def system(self) -> System:
        """Return which system this is."""
        return "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"

    def configuration(self, client: str) -> Path:
        """Return the file of a client's MCP servers. Raises `InvalidInput` where it has none of this scope."""
        return Path(configuration(client, self.scope, self.folder, self.system, self.env, self.home))

    def hook(self, agent: Agent) -> Path | None:
        """Return the file of an agent's hook or rule; None where there is none of this scope."""
        if self.scope == "workspace":
            return Path(self.folder) / agent.workspace
        return self.of_user(agent.user) if agent.user else None

    def of_user(self, path: str) -> Path:
        """Return a path of the user's own."""
        return Path(user_path(path, self.system, self.env, self.home))


class FileEdits(Struct, frozen=True):
    """A file, all that Carrel may enter there in its order, and what of it is wanted now."""

    path: Path
    edits: tuple[Edit, ...]
    wanted: tuple[Edit, ...]


def edits_of_client(client: str, place: Place, command: str) -> FileEdits:
    """Return what stands for a client's MCP servers."""
    path, entry = place.configuration(client), CLIENTS[client].edit(command)
    beside = tuple(agent.hook("") for agent in AGENTS.values() if agent.client == client and place.hook(agent) == path)
    return FileEdits(path, (entry, *beside), (entry,))


def edits_of_agent(agent: Agent, place: Place, command: str, program: str) -> Iterator[FileEdits]:
    """Yield what stands for an agent: its MCP entry and its hook, in one file or in two."""
    entries, path, hook = edits_of_client(agent.client, place, command), place.hook(agent), agent.hook(program)
    if path == entries.path:
        both = (*entries.wanted, hook)
        yield FileEdits(path, both, both)
    else:
        yield entries
        if path:
            yield FileEdits(path, (hook,), (hook,))


def is_here(agent: Agent, place: Place) -> bool:
    """Tell whether an agent is installed: its program is on PATH, or its settings' folder is there."""
    return shutil.which(agent.program, path=place.env.get("PATH", os.defpath)) is not None or place.of_user(agent.folder).is_dir()


def named(agent: Agent, edit: Edit) -> str:
    """Name one of an agent's edits to a person."""
    return "the MCP server" if isinstance(edit, Entry | Table) else agent.beside


def started_by(edit: Edit, value: Any) -> Any:
    """Return what tells one installation's entry from another's."""
    return command_of(value) if isinstance(edit, Entry | Table) else value
