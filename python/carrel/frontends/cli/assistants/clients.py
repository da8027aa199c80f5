"""Assistants' configuration files, as data: where each is on each system, and what an entry looks like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from msgspec import Struct, field

from carrel.frontends.cli.assistants.edits import Edit, Entry, Table
from carrel.model.errors import InvalidInput

NAME = "carrel"
"""The name of the server in every file."""

System = Literal["linux", "darwin", "win32"]
Scope = Literal["global", "workspace"]


class Client(Struct, frozen=True):
    """One assistant. `{name}` in a path is a variable of `bases`; `workspace` is relative to the folder."""

    title: str
    section: str
    paths: Mapping[System, str]
    workspace: str | None
    extra: Mapping[str, Any] = field(default_factory=dict)
    folder_variable: str = ""  # what the client puts the open folder in place of
    one_list: bool = False  # the command and its arguments stand in one list

    def entry(self, command: str) -> dict[str, Any]:
        """Return what stands under the server's name."""
        opened = ("--root", self.folder_variable, "--roots-by-editor") if self.folder_variable else ()
        arguments = ["mcp", *opened]
        return {
            **self.extra,
            **({"command": [command, *arguments]} if self.one_list else {"command": command, "args": arguments}),
        }

    def edit(self, command: str) -> Edit:
        """Return what comes into the client's file."""
        kind = Table if PurePosixPath(self.paths["linux"]).suffix == ".toml" else Entry
        return kind((self.section, NAME), self.entry(command), _is_of_carrel)


def command_of(entry: Any) -> list[str]:
    """Return the program and arguments of a server's entry; none where it isn't an entry."""
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args")
    listed = [*(command if isinstance(command, list) else [command]), *(arguments if isinstance(arguments, list) else [])]
    return [str(part) for part in listed]


def _is_of_carrel(entry: Any) -> bool:
    return command_of(entry)[1:2] == ["mcp"]


def _everywhere(path: str) -> dict[System, str]:
    return {"linux": path, "darwin": path, "win32": path}


CLIENTS: dict[str, Client] = {
    "vscode": Client("VS Code", "servers", _everywhere("{vscode}/mcp.json"), ".vscode/mcp.json", {"type": "stdio"}),
    "claude": Client("Claude Code", "mcpServers", _everywhere("{claude}/.claude.json"), ".mcp.json", {"type": "stdio"}),
    "cursor": Client(
        "Cursor", "mcpServers", _everywhere("{home}/.cursor/mcp.json"), ".cursor/mcp.json", {}, "${workspaceFolder}"
    ),
    "zed": Client(
        "Zed",
        "context_servers",
        {
            "linux": "{config}/zed/settings.json",
            "darwin": "{home}/.config/zed/settings.json",
            "win32": "{appdata}/Zed/settings.json",
        },
        ".zed/settings.json",
        {"source": "custom"},
    ),
    "jetbrains": Client(
        "GitHub Copilot in JetBrains IDEs",
        "servers",
        {
            "linux": "{config}/github-copilot/intellij/mcp.json",
            "darwin": "{home}/.config/github-copilot/intellij/mcp.json",
            "win32": "{localappdata}/github-copilot/intellij/mcp.json",
        },
        None,
    ),
    "copilot-cli": Client("Copilot CLI", "mcpServers", _everywhere("{copilot}/mcp-config.json"), ".mcp.json", {"type": "stdio"}),
    "codex": Client(
        "Codex", "mcp_servers", _everywhere("{codex}/config.toml"), ".codex/config.toml", {"startup_timeout_sec": 30}
    ),
    "gemini": Client("Gemini CLI", "mcpServers", _everywhere("{gemini}/.gemini/settings.json"), ".gemini/settings.json"),
    "opencode": Client(
        "opencode",
        "mcp",
        _everywhere("{config}/opencode/opencode.json"),
        "opencode.json",
        {"type": "local", "enabled": True},
        one_list=True,
    ),
    "qwen": Client("Qwen Code", "mcpServers", _everywhere("{qwen}/settings.json"), ".qwen/settings.json"),
}


OWN_FOLDERS = frozenset(
    parent.name for client in CLIENTS.values() for parent in PurePosixPath(client.workspace or "").parents if parent.name
) | {".claude", ".copilot", ".github", ".opencode", "hooks", "instructions", "opencode", "plugin", "rules"}
"""Folders of assistants: `.vscode` and the like. An empty one left behind would say that its assistant is here."""


def configuration(name: str, scope: Scope, folder: str, system: System, env: Mapping[str, str], home: str) -> PurePath:
    """Return the configuration file of a client. Raises `InvalidInput` where it has none of that scope."""
    client = CLIENTS[name]
    if scope == "workspace":
        if client.workspace is None:
            raise InvalidInput("--workspace", f"{client.title} has only one configuration, the user's own", "Use --global.")
        return _kind(system)(folder) / client.workspace
    return user_path(client.paths[system], system, env, home)


def user_path(path: str, system: System, env: Mapping[str, str], home: str) -> PurePath:
    """Fill in a path of a user's own folders."""
    kind = _kind(system)
    config = env.get("XDG_CONFIG_HOME") or str(kind(home) / ".config")
    appdata = env.get("APPDATA") or str(kind(home) / "AppData" / "Roaming")
    applications = {"linux": config, "darwin": str(kind(home) / "Library" / "Application Support"), "win32": appdata}
    bases = {
        "home": home,
        "config": config,
        "appdata": appdata,
        "vscode": str(kind(applications[system]) / "Code" / "User"),
        "localappdata": env.get("LOCALAPPDATA") or str(kind(home) / "AppData" / "Local"),
        "claude": env.get("CLAUDE_CONFIG_DIR") or home,
        "claude_settings": env.get("CLAUDE_CONFIG_DIR") or str(kind(home) / ".claude"),
        "codex": env.get("CODEX_HOME") or str(kind(home) / ".codex"),
        "copilot": env.get("COPILOT_HOME") or str(kind(home) / ".copilot"),
        "gemini": env.get("GEMINI_CLI_HOME") or home,
        "qwen": env.get("QWEN_HOME") or str(kind(home) / ".qwen"),
    }
    return kind(path.format(**bases))


def _kind(system: System) -> type[PurePath]:
    return PureWindowsPath if system == "win32" else PurePosixPath
