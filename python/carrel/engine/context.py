"""Hits + budget -> the text that goes to a chat (spec B5, E2, E5). The budget is never exceeded, by a tag or by a token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from carrel.core.ports import Tokenizer
from carrel.core.types import Budget, ContextItem, ContextPack, Dropped, Format, Hit, Span
from carrel.engine.formats import Form, form_of

GAP_LINES = 3
"""Neighbours with so few lines between them are shown as one piece."""
SMALLEST_SAVING = 0.6
"""A signature in place of a body must save this share, or the body's end is no loss worth marking."""

LineReader = Callable[[str, int, int], str | None]
"""(path, first line, last line) -> their text as it stands now, or None."""


def pack(
    hits: Sequence[Hit],
    budget: Budget,
    tokenizer: Tokenizer,
    *,
    query: str = "",
    form: Format | Form = "xml",
    dropped: Sequence[Dropped] = (),
    read_lines: LineReader | None = None,
) -> ContextPack:
    """Fill the budget by score; a hit that doesn't fit is shortened to its signature or left out, and a smaller one may enter.

    `dropped` is what earlier stages left out. `read_lines` gives the lines between two neighbours, so that they can be
    shown as one piece; without it only pieces that touch are joined.
    """
    name: Format = form if isinstance(form, str) else "source"
    shape = form_of(form) if isinstance(form, str) else form
    measure = len if budget.unit == "chars" else tokenizer.count
    left_out = list(dropped)
    items = _choose(_without_overlaps(hits, left_out), budget.amount, shape, measure, left_out)
    items = _joined(items, read_lines)
    text = _render(items, shape)
    # Tokens of a whole are seldom more than those of its parts, but they can be; and joining adds the lines between.
    while items and measure(text) > budget.amount:
        left_out.append(_drop(items.pop().hit, "does not fit the budget"))
        text = _render(items, shape)
    if not items:
        text = shape.empty if measure(shape.empty) <= budget.amount else ""
    digest = hashlib.blake2b(f"{query}\0{text}".encode(), digest_size=8).hexdigest()
    return ContextPack(
        id=digest,
        text=text,
        format=name,
        tokens=tokenizer.count(text),
        budget=budget,
        tokenizer=tokenizer.name,
        items=tuple(items),
        dropped=tuple(left_out),
        query=query,
    )


def _without_overlaps(hits: Sequence[Hit], left_out: list[Dropped]) -> list[Hit]:
    kept: list[Hit] = []
    # The retriever's order stands: relevance is an estimate, the order is the verdict.
    for hit in hits:
        if twin := next((k for k in kept if k.chunk.path == hit.chunk.path and k.chunk.span.overlaps(hit.chunk.span)), None):
            span = twin.chunk.span
            left_out.append(_drop(hit, f"overlaps lines {span.start_line}-{span.end_line}"))
        else:
            kept.append(hit)
    return kept


def _choose(
    hits: Sequence[Hit], amount: int, shape: Form, measure: Callable[[str], int], left_out: list[Dropped]
) -> list[ContextItem]:
    items: list[ContextItem] = []
    used = measure(shape.head + shape.tail)
    # Every joint and line end is counted as if it were a token of its own: parts never add up to less than the whole.
    joint = measure(shape.joint) + (1 if shape.joint else 0)
    for hit in hits:
        whole = ContextItem(hit, hit.chunk.text)
        short = _elided(hit)
        for item in (whole, short):
            if item is None:
                continue
            cost = measure(shape.block(item)) + (joint if items else 0)
            if used + cost <= amount:
                items.append(item)
                used += cost
                break
        else:
            left_out.append(_drop(hit, "does not fit the budget"))
    return items


def _elided(hit: Hit) -> ContextItem | None:
    """Signature and a mark in place of the body; None where that would save little."""
    chunk = hit.chunk
    lines = chunk.text.count("\n")
    if not chunk.signature or lines < 3 or len(chunk.signature) > len(chunk.text) * (1 - SMALLEST_SAVING):
        return None
    first = next((line for line in chunk.text.splitlines() if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    span = chunk.span
    return ContextItem(
        hit, f"{indent}{chunk.signature}\n{indent}    … (lines {span.start_line}-{span.end_line} left out)", elided=True
    )


def _joined(items: Sequence[ContextItem], read_lines: LineReader | None) -> list[ContextItem]:
    """Join pieces of one file that touch or nearly do; the best one lends its score and place."""
    result = list(items)
    for item in sorted(items, key=lambda i: (i.hit.chunk.path, i.hit.chunk.span.start_line)):
        neighbour = next(
            (r for r in result if r is not item and not r.elided and not item.elided and _follows(r, item)),
            None,
        )
        if neighbour is None or item not in result:
            continue
        between = _between(neighbour, item, read_lines)
        if between is None:
            continue
        better, other = sorted((neighbour, item), key=result.index)
        span = Span(
            neighbour.hit.chunk.span.start_line,
            item.hit.chunk.span.end_line,
            neighbour.hit.chunk.span.start_character,
            item.hit.chunk.span.end_character,
        )
        text = _with_line_end(neighbour.text) + between + item.text
        symbol = _common_symbol(neighbour.hit.chunk.symbol, item.hit.chunk.symbol)
        joined = replace(
            better, hit=replace(better.hit, chunk=replace(better.hit.chunk, span=span, text=text, symbol=symbol)), text=text
        )
        result[result.index(better)] = joined
        result.remove(other)
    return result


def _follows(first: ContextItem, second: ContextItem) -> bool:
    a, b = first.hit.chunk, second.hit.chunk
    return a.path == b.path and 0 < b.span.start_line - a.span.end_line <= GAP_LINES + 1


def _between(first: ContextItem, second: ContextItem, read_lines: LineReader | None) -> str | None:
    start, end = first.hit.chunk.span.end_line + 1, second.hit.chunk.span.start_line - 1
    if end < start:
        return ""
    text = read_lines(first.hit.chunk.path, start, end) if read_lines else None
    return None if text is None else _with_line_end(text)


def _with_line_end(text: str) -> str:
    return text if text.endswith(("\n", "\r")) or not text else text + "\n"


def _common_symbol(first: str, second: str) -> str:
    if not first or not second or first == second:
        return first or second
    container = first.rpartition(".")[0]
    if container and container == second.rpartition(".")[0]:
        return f"{container}.{{{first.rpartition('.')[2]}, {second.rpartition('.')[2]}}}"
    return f"{first}, {second}"


def _render(items: Sequence[ContextItem], shape: Form) -> str:
    if not items:
        return shape.empty
    ordered = list(items)
    if shape.by_place:
        best = {path: i for i, path in reversed(list(enumerate(i.hit.chunk.path for i in items)))}
        ordered.sort(key=lambda i: (best[i.hit.chunk.path], i.hit.chunk.span.start_line))
    return shape.head + shape.joint.join(shape.block(item) for item in ordered) + shape.tail


def _drop(hit: Hit, reason: str) -> Dropped:
    return Dropped(hit.chunk.path, hit.chunk.span.start_line, hit.chunk.span.end_line, reason)
