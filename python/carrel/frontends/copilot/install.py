"""Set the proxy up where a client lets its server's command be chosen, and undo it. Only files of our own are ever written.

A launcher script stands in for the server, because most clients take one file name. Vim and Neovim source a plugin folder,
so copilot.vim is told by a file there; other clients are configured in the user's own code: we name the line, and don't edit.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from carrel.core.errors import CarrelError

CLIENTS = ("vim", "neovim", "copilot.lua", "emacs", "zed", "eclipse")
_MARK = "written by carrel copilot-proxy install"
_REAL = "copilot-language-server"


def install(client: str, proxy: list[str], real: str | None) -> list[str]:
    """Write the launcher, tell the client where it can be told; gives lines for the person. Raises `CarrelError`."""
    if client in _IMPOSSIBLE:
        raise CarrelError(_IMPOSSIBLE[client])
    found = shutil.which(real or _REAL)
    if found is None:
        remedy = "Install it (npm install -g @github/copilot-language-server) or give --real FILE."
        raise CarrelError(f"{real or _REAL} isn't there. {remedy}")
    script = _launcher()
    if Path(found).resolve() == script.resolve():
        raise CarrelError("--real names Carrel's own launcher; give the real server.")
    _write(script, _script([*proxy, found]), mode=0o755)
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
    others = [path for name in ("vim", "neovim") if name != client and (path := _plugin(name)) and _ours(path)]
    for path in (plugin, None if others else _launcher()):
        if path and _ours(path):
            path.unlink()
            removed.append(f"removed {path}")
    if client in ("copilot.lua", "emacs"):
        removed.append("Take the line that names the launcher out of your own configuration.")
    return removed or ["nothing was installed"]


_IMPOSSIBLE = {
    "zed": "Zed talks to Copilot's chat itself and has no setting for the server's command. Use `carrel proxy` or MCP there.",
    "eclipse": "Copilot for Eclipse starts the server that it bundles and has no setting for another. Use MCP there.",
}


def _by_hand(client: str, script: Path) -> list[str]:
    if client == "copilot.lua":
        line = f'server = {{ type = "binary", custom_server_filepath = "{script.as_posix()}" }}'
        return ["Add this to require('copilot').setup { … }:", f"  {line}"]
    if client == "emacs":
        return ["Add this to your init file:", f'  (setq copilot-server-executable "{script.as_posix()}")']
    return []


def _launcher() -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415 - only here

    return user_data_path("carrel", appauthor=False) / ("copilot-launcher.cmd" if os.name == "nt" else "copilot-launcher")


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


def _ours(path: Path) -> bool:
    try:
        return _MARK in path.read_text("utf-8", errors="replace")
    except OSError:
        return False


def _write(path: Path, text: str, *, mode: int) -> None:
    if (path.exists() or path.is_symlink()) and not _ours(path):
        raise CarrelError(f"{path} is there and isn't Carrel's; move it away first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
        path.chmod(mode)
    except OSError as error:
        raise CarrelError(f"{path} can't be written: {error.strerror}") from error
