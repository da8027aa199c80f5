"""Set the proxy up where a client lets its server's command be chosen, and undo it. Only files of our own are ever written.

A launcher script stands in for the server, because most clients take one file name. Vim and Neovim source a plugin folder,
so copilot.vim is told by a file there; other clients are configured in the user's own code: we name the line, and don't edit.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

from carrel.model.errors import CarrelError
from carrel.system.filesystem import private_folder

CLIENTS = ("vim", "neovim", "copilot.lua", "emacs", "eclipse")
_MARK = "written by carrel copilot-proxy install"
_REAL = "copilot-language-server"


def install(client: str, proxy: list[str], real: str | None) -> list[str]:
    """Write the launcher, tell the client where it can be told; gives lines for the person. Raises `CarrelError`."""
    program = shutil.which(real or _REAL)
    if program is None:
        remedy = "Install it (npm install -g @github/copilot-language-server) or give --real FILE."
        raise CarrelError(f"{real or _REAL} isn't there", remedy)
    script = _launcher(client)
    if Path(program).resolve() in {_launcher(name).resolve() for name in CLIENTS}:
        raise CarrelError("--real names Carrel's own launcher", "Give the real server.")
    try:
        private_folder(script.parent)  # a client starts what lies there
    except OSError as error:
        raise CarrelError(f"{script.parent} can't be made: {error.strerror}", "Make its parent writable.") from None
    _write(script, (_node_script if script.suffix == ".js" else _script)([*proxy, program]), mode=0o755)
    lines = [f"wrote {script}"]
    if plugin := _plugin(client):
        quoted = str(script).replace("'", "''")
        _write(plugin, f"\" {_MARK}\nlet g:copilot_command = '{quoted}'\n", mode=0o644)
        lines.append(f"wrote {plugin}")
    return [*lines, *_by_hand(client, script)]


def uninstall(client: str) -> list[str]:
    """Remove what `install` wrote, as long as it is still ours; the launcher goes with its last user."""
    removed = []
    plugin = _plugin(client)
    launcher = _launcher(client)
    others = [name for name in ("vim", "neovim") if name != client and _launcher(name) == launcher and _ours(_plugin(name))]
    for path in (plugin, None if others else launcher):
        if path and _ours(path):
            path.unlink()
            removed.append(f"removed {path}")
    if client in ("copilot.lua", "emacs"):
        removed.append("Take the line that names the launcher out of your own configuration.")
    if client == "eclipse":
        removed.append("Start Eclipse without the two variables from now on.")
    return removed or ["nothing was installed"]


_IMPOSSIBLE = {
    "vscode": (
        "VS Code runs Copilot inside its extension, with no setting for another server, so the proxy can't stand before it. "
        "Use Carrel's extension there (@carrel and #carrel in the chat), or let the agent search: "
        "carrel mcp install --client vscode."
    ),
    "jetbrains": (
        "JetBrains IDEs run Copilot from a bundle, with no setting for another server, so the proxy can't stand before it. "
        "Use Carrel's plugin there, or let the agent search: carrel mcp install --client jetbrains."
    ),
    "zed": (
        "Zed runs its own copy of the server, for completions only, and talks to Copilot's chat itself. "
        "Use `carrel proxy` there, or let the agent search: carrel mcp install --client zed."
    ),
}
_OTHER_NAMES = {"vs-code": "vscode", "code": "vscode", "intellij": "jetbrains", "pycharm": "jetbrains"}


def refuse_impossible(client: str) -> None:
    """Say why a client can't be set up, and what can be done instead. Raises `CarrelError`."""
    if reason := _IMPOSSIBLE.get(_OTHER_NAMES.get(client, client)):
        raise CarrelError(reason)


def _by_hand(client: str, script: Path) -> list[str]:
    if client == "copilot.lua":
        line = f'server = {{ type = "binary", custom_server_filepath = "{script.as_posix()}" }}'
        return ["Add this to require('copilot').setup { … }:", f"  {line}"]
    if client == "emacs":
        return ["Add this to your init file:", f'  (setq copilot-server-executable "{script.as_posix()}")']
    if client == "eclipse":
        return [
            "Start Eclipse with these variables (Copilot's plugin 0.15 or later reads them, to debug its server; it runs the",
            "launcher with the Node.js of Wild Web Developer, so install that too):",
            "  COPILOT_DEBUG_LOCAL=true",
            f"  COPILOT_LS_JS_PATH={script}",
        ]
    return []


def _launcher(client: str) -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415 - only here

    ending = ".js" if client == "eclipse" else ".cmd" if os.name == "nt" else ""
    return user_data_path("carrel", appauthor=False) / f"copilot-launcher{ending}"


def _plugin(client: str) -> Path | None:
    if client == "vim":
        return Path.home() / ("vimfiles" if os.name == "nt" else ".vim") / "plugin" / "carrel_copilot.vim"
    if client == "neovim":
        base = os.environ.get("XDG_CONFIG_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
        return (Path(base) if base else Path.home() / ".config") / "nvim" / "plugin" / "carrel_copilot.vim"
    return None


def _script(command: list[str]) -> str:
    if os.name == "nt":
        return f"@rem {_MARK}\r\n@" + " ".join(f'"{word}"' for word in command) + " %*\r\n"
    return f'#!/bin/sh\n# {_MARK}\nexec {shlex.join(command)} "$@"\n'


def _node_script(command: list[str]) -> str:
    """Write a launcher for a client that runs JavaScript. Eclipse opens a debugger's port with it, which is closed at once."""
    return f"""// {_MARK}
"use strict";
require("inspector").close();
const [program, ...words] = {json.dumps(command)};
words.push(...process.argv.slice(2));
const server = require("child_process").spawn(program, words, {{ stdio: "inherit", windowsHide: true }});
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => server.kill(name));
server.on("error", (error) => {{ console.error(error.message); process.exitCode = 127; }});
server.on("exit", (code, signal) => {{
  if (signal) process.removeAllListeners(signal);
  signal ? process.kill(process.pid, signal) : process.exit(code);
}});
"""


def _ours(path: Path | None) -> bool:
    try:
        return path is not None and _MARK in path.read_text("utf-8", errors="replace")
    except OSError:
        return False


def _write(path: Path, text: str, *, mode: int) -> None:
    if (path.exists() or path.is_symlink()) and not _ours(path):
        raise CarrelError(f"{path} is there and isn't Carrel's", "Move it away first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
        path.chmod(mode)
    except OSError as error:
        raise CarrelError(f"{path} can't be written: {error.strerror}") from error
