"""The program that agents' hooks start: `carrel-hook AGENT`, native, with a hook's JSON on standard input."""

from __future__ import annotations

import os
from pathlib import Path

from carrel.model.errors import CarrelError

AGENTS = ("claude-code", "codex", "gemini", "copilot", "opencode", "qwen")
"""The agents whose hooks it knows."""

_PROGRAM = Path(__file__).parents[2] / "bin" / ("carrel-hook.exe" if os.name == "nt" else "carrel-hook")
_SHELL = '"$`\n\r'
"""Signs that shells read within double quotes."""


def program() -> Path:
    """Return the program's path. Raises `CarrelError` where this installation lacks it, or no shell could start it."""
    if any(mark in str(_PROGRAM) for mark in _SHELL):
        raise CarrelError(
            f"Agents can't start {_PROGRAM} from their shell: a sign in the path would be read as a part of the command",
            "Install Carrel into a folder whose name has no quote, $, ` or line end.",
        )
    if _PROGRAM.is_file():
        return _PROGRAM
    raise CarrelError(
        f"The program of agents' hooks is missing: there is no {_PROGRAM}",
        "Install Carrel from a wheel, or run `make build` in a checkout.",
    )
