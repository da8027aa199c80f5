"""`carrel batch`: many queries over many folders, JSON lines in and out; each folder is indexed once."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from carrel.composition.composition import Composition
from carrel.frontends.cli.in_process import current_index, settings
from carrel.frontends.cli.terminal import Output, folder
from carrel.frontends.common.event_loop import cancellable
from carrel.index.open_index import OpenIndex
from carrel.model.errors import Cancelled, CarrelError, InvalidInput
from carrel.model.native import CancelToken
from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, Chunk, Query
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context_blocking
from carrel.service.queries import search_blocking


class Line(msgspec.Struct):
    """One query."""

    id: str | int
    repo_dir: str
    query: str
    k: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 10


class _Folder(Struct):
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
                is_carrel_error = isinstance(error, CarrelError)
                reason = str(error) if is_carrel_error else f"is not a JSON line of {{id, repo_dir, query, k}}: {error}"
                output.warn(f"carrel: {arguments.file}, line {number}: {reason}")
                continue
            output.json_line(answer)

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
    return _Folder(index, Composition().tokenizer(chosen, None))


def _answer(target: _Folder, line: Line, arguments: Namespace, token: CancelToken) -> list[dict[str, Any]]:
    if not arguments.context:
        retrieval = search_blocking(target.index, Query(line.query, limit=line.k), token)
        return [_place(hit.chunk, hit.focus) for hit in retrieval.hits]
    request = ContextRequest(line.query, line.k, Budget(arguments.tokens, "tokens"), trigger="explicit")
    answer = context_blocking(lambda: target.index, request, lambda: target.tokenizer, token)
    if token.cancelled:
        raise Cancelled("cancelled")
    if answer.error:
        raise CarrelError(answer.error)
    return [_place(item.hit.chunk, run) for item in answer.pack.items for run in item.runs]


def _place(chunk: Chunk, shown: tuple[int, int] | None) -> dict[str, Any]:
    """Return the lines that are shown, or to be read first."""
    start, end = shown or (chunk.span.start_line, chunk.span.end_line)
    return {"path": chunk.path, "start_line": start, "end_line": end}
