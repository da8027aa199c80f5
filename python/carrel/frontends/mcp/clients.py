"""Assistants' configuration files, as data: where each is on each system, and what an entry looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from carrel.model.errors import InvalidInput

System = Literal["linux", "darwin", "win32"]
Scope = Literal["global", "workspace"]


@dataclass(frozen=True, slots=True)
class Client:
    """One assistant. `{name}` in a path is a variable of `bases`; `workspace` is relative to the folder."""

    title: str
    section: str
    paths: Mapping[System, str]
    workspace: str | None
    extra: Mapping[str, Any] = field(default_factory=dict)
    folder_variable: str = ""  # what the client puts the open folder in place of

    def entry(self, command: str, root: str) -> dict[str, Any]:
        """Return what stands under the server's name."""
        opened = ("--root", self.folder_variable, "--roots-by-editor") if self.folder_variable else ()
        return {**self.extra, "command": command, "args": ["mcp", *(("--root", root) if root else opened)]}


def _everywhere(path: str) -> dict[System, str]:
    return {"linux": path, "darwin": path, "win32": path}


CLIENTS: dict[str, Client] = {
    "vscode": Client(
        "VS Code",
        "servers",
        {
            "linux": "{config}/Code/User/mcp.json",
            "darwin": "{home}/Library/Application Support/Code/User/mcp.json",
            "win32": "{appdata}/Code/User/mcp.json",
        },
        ".vscode/mcp.json",
        {"type": "stdio"},
    ),
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
    "copilot-cli": Client(
        "Copilot CLI", "mcpServers", _everywhere("{copilot}/mcp-config.json"), ".mcp.json", {"type": "stdio", "tools": ["*"]}
    ),
}


WORKSPACE_FOLDERS = frozenset(
    parent for client in CLIENTS.values() if client.workspace and (parent := PurePosixPath(client.workspace).parent.name)
)
"""Folders of assistants in a project: `.vscode` and the like."""


def configuration(name: str, scope: Scope, folder: str, system: System, env: Mapping[str, str], home: str) -> PurePath:
    """Return the configuration file of a client. Raises `InvalidInput` where it has none of that scope."""
    client = CLIENTS[name]
    kind = PureWindowsPath if system == "win32" else PurePosixPath
    if scope == "workspace":
        if client.workspace is None:
            raise InvalidInput("--workspace", f"{client.title} has only one configuration, the user's own", "Use --global.")
        return kind(folder) / client.workspace
    default = str(kind(home) / ".config")
    bases = {
        "home": home,
        "config": env.get("XDG_CONFIG_HOME") or default,
        "appdata": env.get("APPDATA") or str(kind(home) / "AppData" / "Roaming"),
        "localappdata": env.get("LOCALAPPDATA") or str(kind(home) / "AppData" / "Local"),
        "claude": env.get("CLAUDE_CONFIG_DIR") or home,
        "copilot": env.get("COPILOT_HOME") or str(kind(home) / ".copilot"),
    }
    return kind(client.paths[system].format(**bases))
