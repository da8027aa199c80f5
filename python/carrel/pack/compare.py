"""Whole files against retrieved chunks for one question, cut by syntax and by lines: what each costs and covers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.errors import Cancelled
from carrel.model.lines import lines_of
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, ContextItem, Format, Hit, Span
from carrel.pack.context import pack, render
from carrel.pack.formats import form_of
from carrel.question.prepare import PreparedQuery
from carrel.search.retriever import retrieve

FORM: Format = "xml"
"""Both stand in the same tags, so that these don't decide."""
LINES = (20, 50, 100)
"""Lines of the chunks that are compared with those by syntax."""
MANY_FILES, LONG_FILE, FULL = 100, 1_000, 0.8
"""Files of a folder, lines of a file, and the share of a window from which retrieval pays."""


class Strategy(Struct, frozen=True):
    """One way to answer: tokens sent, milliseconds until they were ready, and the files that they are from.

    `items` and `text` are what a chat model is given to answer from: of whole files those that it has room for, or the budget
    where none is asked. `judged` is what it says of them, where it was asked.
    """

    tokens: int
    milliseconds: float
    files: tuple[str, ...]
    items: tuple[ContextItem, ...] = ()
    text: str = ""
    judged: str | None = None

    @property
    def fitting(self) -> tuple[str, ...]:
        """The files that there is room for."""
        return tuple(dict.fromkeys(item.hit.chunk.path for item in self.items))


class Comparison(Struct, frozen=True):
    """The same question each way. `unread` are files that could not be read whole, `reasons` say why retrieval pays here.

    `problem` says why the index may have found too little.

    `by_lines` has by the lines of a chunk what is found in the same whole files where they are cut so.
    """

    chunks: Strategy
    whole_files: Strategy
    unread: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    by_lines: Mapping[int, Strategy] = field(default_factory=dict)
    problem: str | None = None


Cut = Callable[[Mapping[str, str], int], tuple[SnapshotView, PreparedQuery]]
"""(texts by path, lines of a chunk) -> an index of these texts, and the question for it."""


def compare(
    view: SnapshotView,
    prepared: PreparedQuery,
    tokenizer: Tokenizer,
    budget: Budget,
    cancel: CancelToken,
    *,
    most_tokens: int = 0,
    cut: Cut | None = None,
) -> Comparison:
    """Answer with a pack, then with the whole of each file that the hits come from, attached in the same form.

    `most_tokens` is what a chat model has room for, 0 where none is asked. With `cut` these files are cut by lines, too.
    """
    chunks, hits = _packed(view, prepared, tokenizer, budget, cancel)
    began = time.perf_counter()
    best = {hit.chunk.path: hit for hit in reversed(hits)}
    blocks, read, unread = [], [], []
    for path in dict.fromkeys(hit.chunk.path for hit in hits):
        if cancel.cancelled:
            raise Cancelled
        text = view.text(path)
        if text is None:
            unread.append(path)
        else:
            blocks.append(_attached(best[path], text))
            read.append(path)
    tokens = tokenizer.count(render(blocks, form_of(FORM)))
    elapsed = _since(began)
    fitting: tuple[ContextItem, ...] = ()
    count = len if budget.unit == "chars" and not most_tokens else tokenizer.count
    for block in blocks:
        if count(render((*fitting, block), form_of(FORM))) <= (most_tokens or budget.amount):
            fitting = (*fitting, block)
    whole = Strategy(tokens, elapsed, tuple(read), fitting, render(fitting, form_of(FORM)))
    longest = max((block.hit.chunk.span.end_line for block in blocks), default=0)
    texts = {block.hit.chunk.path: block.text for block in blocks}
    cuts = {lines: cut(texts, lines) for lines in LINES} if cut else {}
    by_lines = {lines: _packed(*searched, tokenizer, budget, cancel)[0] for lines, searched in cuts.items()}
    return Comparison(chunks, whole, tuple(unread), _reasons(view.files, longest, tokens, most_tokens), by_lines)


def _packed(
    view: SnapshotView, prepared: PreparedQuery, tokenizer: Tokenizer, budget: Budget, cancel: CancelToken
) -> tuple[Strategy, tuple[Hit, ...]]:
    """Return the answer by a pack, and the hits that it was made of."""
    began = time.perf_counter()
    hits = retrieve(view, prepared, cancel).hits
    packed = pack(hits, budget, tokenizer, query=prepared.query.text, form=FORM, read_lines=view.lines)
    took = round(prepared.milliseconds + _since(began), 3)
    strategy = Strategy(packed.tokens, took, (), packed.items, packed.text)
    return replace(strategy, files=strategy.fitting), hits


def _reasons(files: int, longest: int, tokens: int, most_tokens: int) -> tuple[str, ...]:
    """Say by which measure retrieval pays: files, lines or a window nearly full; nothing where whole files would do."""
    measures = {
        f"the folder has {files:,} files": files >= MANY_FILES,
        f"a file has {longest:,} lines": longest >= LONG_FILE,
        f"the whole files fill {tokens / max(most_tokens, 1):.0%} of the model's window": tokens >= FULL * most_tokens > 0,
    }
    return tuple(reason for reason, holds in measures.items() if holds)


def _attached(hit: Hit, text: str) -> ContextItem:
    """Return the whole file that a hit is from, in the block that the hit would have."""
    whole = replace(hit.chunk, text=text, span=Span(1, len(lines_of(text))))
    return ContextItem(replace(hit, chunk=whole), text)


def _since(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 3)
