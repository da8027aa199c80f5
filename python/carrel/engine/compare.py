"""Whole files against retrieved chunks for one question (spec A9): what each costs and covers."""

from __future__ import annotations

import time
from dataclasses import dataclass

from carrel.core.errors import Cancelled
from carrel.core.local_index import SnapshotView
from carrel.core.native import CancelToken
from carrel.core.ports import Tokenizer
from carrel.core.types import Budget
from carrel.engine.context import pack
from carrel.engine.prepare import PreparedQuery
from carrel.engine.retriever import retrieve


@dataclass(frozen=True, slots=True)
class Way:
    """One way to answer: tokens sent, milliseconds until they were ready, and the files that they are from."""

    tokens: int
    milliseconds: float
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same question both ways. `unread` are files that could not be read whole."""

    chunks: Way
    whole_files: Way
    unread: tuple[str, ...]


def compare(view: SnapshotView, prepared: PreparedQuery, tokenizer: Tokenizer, budget: Budget, cancel: CancelToken) -> Comparison:
    """Answer with a pack, then with the whole of each file that the hits come from, as attaching them would."""
    began = time.perf_counter()
    hits = retrieve(view, prepared, cancel).hits
    packed = pack(hits, budget, tokenizer, query=prepared.query.text, read_lines=view.lines)
    chunks = Way(
        packed.tokens,
        round(prepared.milliseconds + _since(began), 3),
        tuple(dict.fromkeys(item.hit.chunk.path for item in packed.items)),
    )
    began = time.perf_counter()
    files = tuple(dict.fromkeys(hit.chunk.path for hit in hits))
    tokens, read, unread = 0, [], []
    for path in files:
        if cancel.cancelled:
            raise Cancelled
        text = view.text(path)
        if text is None:
            unread.append(path)
        else:
            tokens += tokenizer.count(text)
            read.append(path)
    return Comparison(chunks, Way(tokens, _since(began), tuple(read)), tuple(unread))


def _since(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 3)
