"""`carrel batch`: many queries over many folders, JSON lines in and out; each folder is indexed once."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from carrel.core.errors import InvalidInput
from carrel.core.types import Budget, Chunk, Query
from carrel.frontends.cli.cancellable import cancellable
from carrel.frontends.cli.local import folder
from carrel.server.jobs import Work
from carrel.server.settings import Settings
from carrel.server.wiring import OpenIndex, Wiring

if TYPE_CHECKING:
    from carrel.core.native import CancelToken
    from carrel.frontends.cli.output import Output


class Line(msgspec.Struct):
    """One query."""

    id: str | int
    repo_dir: str
    query: str
    k: int = 10


def run(arguments: Namespace, output: Output) -> int:
    """Answer every line in order."""
    try:
        data = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
        lines = msgspec.json.Decoder(Line).decode_lines(data)
    except OSError as error:
        raise InvalidInput("file", f"{arguments.file} can't be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise InvalidInput("file", f"is not JSON lines of {{id, repo_dir, query, k}}: {error}") from None
    wiring = Wiring()
    indexes: dict[str, OpenIndex] = {}

    def work(token: CancelToken) -> None:
        for line in lines:
            if line.repo_dir not in indexes:
                index = wiring.open_index(folder(Path(line.repo_dir)), Settings())
                wiring.run_index(index, Work(full=True), token, lambda *_: None)
                indexes[line.repo_dir] = index
            output.value({"id": line.id, "results": _answer(indexes[line.repo_dir], line, arguments, token)})

    try:
        cancellable(work)
    finally:
        for index in indexes.values():
            index.store.close()
    return 0


def _answer(index: OpenIndex, line: Line, arguments: Namespace, token: CancelToken) -> list[dict[str, Any]]:
    from carrel.engine.context import pack
    from carrel.engine.retriever import retrieve

    view = index.store.snapshot()
    hits = retrieve(view, index.embedder, Query(line.query, limit=line.k), token).hits
    if arguments.context:
        packed = pack(
            hits,
            Budget(arguments.tokens, "tokens"),
            Wiring().tokenizer(Settings(), None),
            query=line.query,
            read_lines=view.lines,
        )
        return [_place(item.hit.chunk, item.shown) for item in packed.items]
    return [_place(hit.chunk, hit.focus) for hit in hits]


def _place(chunk: Chunk, shown: tuple[int, int] | None) -> dict[str, Any]:
    """The lines that are shown, or to be read first."""
    start, end = shown or (chunk.span.start_line, chunk.span.end_line)
    return {"path": chunk.path, "start_line": start, "end_line": end}
