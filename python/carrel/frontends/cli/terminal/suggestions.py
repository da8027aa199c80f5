"""What a person may have meant. Only imported once something was typed wrongly."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def did_you_mean(typed: str, choices: Iterable[str]) -> str:
    """Return a question with the nearest name, to stand behind an error; nothing where none is near."""
    near = difflib.get_close_matches(typed.lower(), list(choices), 1)
    return f" Did you mean {near[0]}?" if near else ""


def about(unknown: list[str], usage: str) -> str:
    """Return what to say beside arguments that a command doesn't take; `usage` names those that it does."""
    flags = sorted(set(re.findall(r"--[a-z][a-z-]*", usage)))
    options = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    hints = "".join(did_you_mean(option, flags) for option in options)
    if hints or options:
        return hints
    folder = next((option for option in ("--path", "--workspace", "--root") if option in flags), None)
    hint = f" A folder is named by {folder} here." if folder else ""
    return hint + (" A query of several words needs quotes." if "QUERY" in usage else "")
