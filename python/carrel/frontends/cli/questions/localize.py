"""`carrel localize`: the text of an issue in, the files and functions that it is about out."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from carrel.frontends.cli.questions.in_process import bring_up_to_date, with_commands
from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.text_input import STANDARD_INPUT, read_text
from carrel.model.errors import InvalidInput
from carrel.model.types import Query
from carrel.service import queries

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output
    from carrel.frontends.lsp.commands.question_commands import Commands
    from carrel.model.types import Hit
    from carrel.search.localize import LocatedFile
    from carrel.service.workspace import Workspace

_HITS_A_FILE = 5
"""So many hits are looked for for each file that is wanted: several stand in one."""


@dataclass(frozen=True, slots=True)
class _Located:
    """What is shown."""

    files: tuple[LocatedFile, ...]
    hits: tuple[Hit, ...]
    is_issue: bool
    elapsed_ms: float


def run(arguments: Namespace, output: Output) -> int:
    """Locate one text and show where."""
    root = folder(arguments.path)
    text = _text(arguments)
    located = with_commands(root, output, lambda commands, workspace: _locate(text, arguments.limit, output, commands, workspace))
    if output.json:
        output.value(_plain(located))
    else:
        _show(located, output)
    if arguments.text and os.path.isfile(arguments.text):  # noqa: PTH113 - false, not an error, for what can't be a path
        output.warn(f"{arguments.text} is a file, but its name was taken for the text: `--file {arguments.text}` reads it.")
    return 0


def _text(arguments: Namespace) -> str:
    """Return the text that was typed, or that stands in the file or on standard input."""
    source = arguments.file or (STANDARD_INPUT if arguments.text == STANDARD_INPUT else None)
    text = arguments.text if source is None else read_text(source)
    if not text.strip():
        raise InvalidInput("text", "is empty", "Give the text of an issue, a trace or a question.")
    return str(text)


async def _locate(text: str, limit: int, output: Output, commands: Commands, workspace: Workspace) -> _Located:
    from carrel.search.files import located_files

    wait_ms = await bring_up_to_date(commands, workspace, output)
    began = time.perf_counter()
    query = Query(text, _HITS_A_FILE * limit)
    found = await queries.search(workspace, query, wait_ms, plan="never", rerank=False)
    elapsed_ms = 1000 * (time.perf_counter() - began)
    files = located_files(found.retrieval) if found.with_evidence else ()
    return _Located(files[:limit], found.with_evidence[:limit], found.diagnostics.is_issue, elapsed_ms)


def _plain(located: _Located) -> dict[str, Any]:
    return {
        "files": [{"path": file.path, "reasons": file.reasons} for file in located.files],
        "places": [
            {
                "symbol": hit.chunk.symbol,
                "kind": hit.chunk.kind,
                "path": hit.chunk.path,
                "startLine": hit.chunk.span.start_line,
                "endLine": hit.chunk.span.end_line,
                "score": hit.score,
            }
            for hit in located.hits
        ],
        "issue": located.is_issue,
        "elapsedMs": round(located.elapsed_ms, 3),
    }


def _show(located: _Located, output: Output) -> None:
    if not located.files:
        output.note("No relevant code found.")
        return
    output.text("Files:")
    for file in located.files:
        output.text(f"  {file.path}")
        if file.reasons:
            output.text(f"      {'; '.join(file.reasons)}")
    output.text("Functions and other places:")
    for hit in located.hits:
        symbol = f"  {hit.chunk.symbol}" if hit.chunk.symbol else ""
        span = hit.chunk.span
        output.text(f"  {hit.chunk.path}:{span.start_line}-{span.end_line}  {hit.score:.2f}{symbol}")
    how = "an issue" if located.is_issue else "a question: it is too short for an issue, so files stand by their best hit"
    output.note(f"{len(located.files)} files in {located.elapsed_ms:.0f} ms; read as {how}")
