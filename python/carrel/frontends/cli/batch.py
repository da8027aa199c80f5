"""`carrel batch`: many queries over many folders, JSON lines in and out; each folder is indexed once."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from carrel.core.errors import Cancelled, CarrelError, InvalidInput
from carrel.core.types import Budget, Chunk, Query
from carrel.frontends.cli.cancellable import cancellable
from carrel.frontends.cli.in_process import current_index, folder, settings
from carrel.server.wiring import OpenIndex, Wiring

if TYPE_CHECKING:
    from carrel.core.native import CancelToken
    from carrel.core.ports import Tokenizer
    from carrel.frontends.cli.output import Output


class Line(msgspec.Struct):
    """One query."""

    id: str | int
    repo_dir: str
    query: str
    k: Annotated[int, msgspec.Meta(ge=1)] = 10


@dataclass(slots=True)
class _Folder:
    """A folder that was asked about: its index is current."""

    index: OpenIndex
    tokenizer: Tokenizer


def run(arguments: Namespace, output: Output) -> int:
    """Answer every line in order; one that can't be is told by its number, and the others are answered all the same."""
    try:
        data = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    except OSError as error:
        raise InvalidInput("file", f"{arguments.file} can't be read: {error.strerror}") from None
    folders: dict[str, _Folder] = {}
    failed = 0

    def work(token: CancelToken) -> None:
        nonlocal failed
        decoder = msgspec.json.Decoder(Line)
        for number, text in enumerate(data.split(b"\n"), 1):
            if not text.strip():
                continue
            try:
                line = decoder.decode(text)
                if line.repo_dir not in folders:
                    folders[line.repo_dir] = _open(folder(Path(line.repo_dir)), output, token)
                answer = {"id": line.id, "results": _answer(folders[line.repo_dir], line, arguments, token)}
            except Cancelled:
                raise
            except (msgspec.DecodeError, UnicodeDecodeError, CarrelError) as error:
                failed += 1
                known = isinstance(error, CarrelError)
                reason = str(error) if known else f"is not a JSON line of {{id, repo_dir, query, k}}: {error}"
                output.warn(f"carrel: {arguments.file}, line {number}: {reason}")
                continue
            output.value(answer)

    try:
        cancellable(work)
    finally:
        for opened in folders.values():
            opened.index.store.close()
    if failed:
        raise CarrelError(f"{failed} {'line' if failed == 1 else 'lines'} could not be answered", "Correct them and ask again.")
    return 0


def _open(root: Path, output: Output, token: CancelToken) -> _Folder:
    chosen = settings(root, output)
    index = current_index(root, chosen, token, lambda *_: None)
    return _Folder(index, Wiring().tokenizer(chosen, None))


def _answer(asked: _Folder, line: Line, arguments: Namespace, token: CancelToken) -> list[dict[str, Any]]:
    from carrel.engine.context import pack
    from carrel.engine.prepare import prepare_blocking
    from carrel.engine.retriever import retrieve

    view = asked.index.store.snapshot()
    hits = retrieve(view, prepare_blocking(Query(line.query, limit=line.k), asked.index.embedder), token).hits
    if arguments.context:
        budget = Budget(arguments.tokens, "tokens")
        packed = pack(hits, budget, asked.tokenizer, query=line.query, read_lines=view.lines)
        return [_place(item.hit.chunk, item.shown) for item in packed.items]
    return [_place(hit.chunk, hit.focus) for hit in hits]


def _place(chunk: Chunk, shown: tuple[int, int] | None) -> dict[str, Any]:
    """Return the lines that are shown, or to be read first."""
    start, end = shown or (chunk.span.start_line, chunk.span.end_line)
    return {"path": chunk.path, "start_line": start, "end_line": end}
