"""What `:Carrel ask` in Neovim hands over in the twelve questions that `make vscode-prompts` asks in VS Code.

Four are follow-ups, two are about a selection. A real Neovim is driven over its RPC socket, with the real server and the
pinned packages of `spans_packages.py`:

    python -m tests.bench.neovim_prompts [--budget TOKENS]

Without a budget the default counts: 4,000 characters, since no chat plugin tells its model's window here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tests.bench.spans_packages import packages, sources
from tests.neovim.nvim import Neovim, binaries, version

CONVERSATIONS = Path(__file__).parents[2] / "editors" / "vscode" / "test" / "prompts" / "conversations.json"
CACHE = Path.home() / ".cache" / "carrel-bench-spans" / "packages"
Place: TypeAlias = Sequence[Any]
"""[path, first line, last line]."""


def share(prompt: str, project: Path, answers: Sequence[Place]) -> float:
    """Return how many of the lines that answer, blank ones left out, stand in a prompt."""
    sent = {line.strip() for line in prompt.split("\n")}
    wanted = [
        line.strip()
        for path, first, last in answers
        for line in (project / path).read_text("utf-8").split("\n")[first - 1 : last]
        if line.strip()
    ]
    return sum(line in sent for line in wanted) / len(wanted)


def asked(editor: Neovim, project: Path, turn: dict[str, Any]) -> tuple[str, float]:
    """Type a question as a person does; return what goes in front of it, and the seconds until then."""
    editor.command("silent! %bwipeout!")
    chosen = ""
    if place := turn.get("select"):
        path, first, last = place
        editor.command(f"edit {project / path}")
        chosen = f"{first},{last}"
    editor.lua("notes = {}; vim.fn.setreg('\"', '')")
    began = time.monotonic()
    editor.command(f"{chosen}Carrel ask {turn['ask']}")
    editor.wait_note("before the question", seconds=60)
    seconds = time.monotonic() - began
    prompt = str(editor.lua("return vim.fn.getreg('\"')"))
    assert prompt.endswith(turn["ask"]), prompt[-200:]
    return prompt.removesuffix(turn["ask"]), seconds


def run(binary: str, name: str, conversations: Sequence[Sequence[dict[str, Any]]], work: Path, budget: int | None) -> list[float]:
    """Ask all questions about one package; print a row each, return the shares."""
    [package] = [one for one in packages() if one.package.split("/")[-1] == name]
    project = work / name
    shutil.copytree(sources(package, CACHE), project)
    env = {f"XDG_{kind}_HOME": str(work / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
    settings: dict[str, Any] = {"cacheFolder": str(work / "index"), **({"budget": {"tokens": budget}} if budget else {})}
    options = {"welcome": False, "autostart": False, "cmd": [sys.executable, "-m", "carrel", "serve"], "settings": settings}
    shares = []
    for conversation in conversations:
        editor = Neovim(binary, project, env)  # a conversation of its own knows of no other
        try:
            editor.lua("require('carrel').setup(args[1])", options)
            editor.command("Carrel index")
            editor.wait_note("added", seconds=120)
            for number, turn in enumerate(conversation):
                context, seconds = asked(editor, project, turn)
                shares.append(share(context, project, turn["answers"]))
                kind = "follow-up" if number else "selection" if "select" in turn else "question"
                print(
                    f"| {name} | {turn['ask']} | {kind} | {shares[-1]:.0%} | {len(context):,} | {1_000 * seconds:,.0f} |",
                    flush=True,
                )
        finally:
            editor.kill()
    return shares


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, metavar="TOKENS")
    budget = parser.parse_args().budget
    binary = binaries()[0]
    print(f"{version(binary)}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, budget {budget or 'as it is by default'}\n")
    print("| project | question | kind | answer's lines | characters | ms |\n| --- | --- | --- | --- | --- | --- |")
    work = Path(tempfile.mkdtemp(prefix="carrel-neovim-prompts-"))
    try:
        shares = [
            one
            for entry in json.loads(CONVERSATIONS.read_text("utf-8"))
            for one in run(binary, entry["package"], entry["conversations"], work, budget)
        ]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"\nat least half of the lines: {sum(one >= 0.5 for one in shares)} of {len(shares)}")


if __name__ == "__main__":
    main()
