"""Pack hits into the text that goes to a chat (spec B5, E2, E5). The budget is never exceeded, by a tag or by a token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from carrel.core.ports import Tokenizer
from carrel.core.types import Budget, ContextItem, ContextPack, Dropped, Format, Hit
from carrel.engine.formats import Form, PlacesForm, form_of, without_text
from carrel.engine.pieces import LineReader, excerpt, follows, joined, signature_only

DOES_NOT_FIT = "does not fit the budget"
FAR_TOO_LONG = 16
"""A text of more characters for each token of a share than this is longer than the budget: code has about four."""
FAIR_SHARES = 4
"""While others wait, a hit gets no more than the budget over this (or over the number of hits, if they are fewer)."""


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
    """Fill the budget in the hits' order, each first in its fair share, then the best ones whole while the budget lasts.

    What the person attached may take all of it; the rest is for what was found.

    A hit larger than its share is shortened to the lines around its focus, one that doesn't fit even so to its signature,
    before it is left out; a smaller one may enter then.

    `dropped` is what earlier stages left out. `read_lines` gives the lines between two neighbours, so that they can be
    shown as one piece; without it only pieces that touch are joined.
    """
    name: Format = form if isinstance(form, str) else "source"
    shape = form_of(form) if isinstance(form, str) else form
    measure = len if budget.unit == "chars" else tokenizer.count
    left_out = list(dropped)
    if isinstance(shape, PlacesForm):  # nothing is shown that could be shortened, or joined to its neighbour
        hits = [without_text(hit) for hit in hits]
    filling = _Filling(budget.amount, shape, measure, read_lines)
    # The retriever's order stands: relevance is an estimate, the order is the verdict.
    left_out += filling.fill(hits)
    items = [piece.item for piece in filling.pieces]
    text = render(items, shape)
    # Costs were added up by parts. The tokens of a whole are seldom more than those of its parts, but they can be.
    size = measure(text)
    while items and size > budget.amount:
        left_out.append(_drop(items.pop().hit, DOES_NOT_FIT))
        text = render(items, shape)
        size = measure(text)
    if size > budget.amount:
        text, size = "", 0
    digest = hashlib.blake2b(f"{query}\0{text}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return ContextPack(
        id=digest,
        text=text,
        format=name,
        tokens=size if budget.unit == "tokens" else tokenizer.count(text),
        budget=budget,
        tokenizer=tokenizer.name,
        items=tuple(items),
        dropped=tuple(left_out),
        query=query,
    )


def render(items: Sequence[ContextItem], shape: Form) -> str:
    """Give the items, best first, as one text of this form."""
    if not items:
        return shape.empty
    ordered = list(items)
    if shape.by_place:
        best_of_file: dict[str, int] = {}
        for place, item in enumerate(items):
            best_of_file.setdefault(item.hit.chunk.path, place)
        ordered.sort(key=lambda i: (best_of_file[i.hit.chunk.path], i.hit.chunk.span.start_line))
    return shape.head + shape.joint.join(shape.block(item) for item in ordered) + shape.tail


@dataclass(slots=True, eq=False)
class _Piece:
    item: ContextItem
    cost: int


class _Filling:
    """A pack that is being filled. Each text is measured once, when it enters: the work is linear in what is offered."""

    def __init__(self, amount: int, shape: Form, measure: Callable[[str], int], read_lines: LineReader | None) -> None:
        self.pieces: list[_Piece] = []  # best first
        self._of_file: dict[str, list[_Piece]] = {}
        self._amount = amount
        self._shape = shape
        self._measure = measure
        self._read_lines = read_lines
        self._joins = not isinstance(shape, PlacesForm)
        self._used = measure(shape.head + shape.tail)
        # A joint is counted as if it shared no token with what stands around it.
        self._joint = measure(shape.joint) + (1 if shape.joint else 0)

    def fill(self, hits: Sequence[Hit]) -> list[Dropped]:
        """Place what fits; return what doesn't, with reasons."""
        fair = self._amount // max(1, min(FAIR_SHARES, len(hits)))
        # Nobody needs room more than what the person chose themselves.
        attached = (self._amount - self._used) // max(1, sum(hit.attached for hit in hits))
        offers = [self._offer(hit, attached if hit.attached else fair) for hit in hits]
        smallest = [short.cost if short else whole.cost for whole, short in offers]
        remaining = self._amount - self._used - _as_many_as_fit(smallest, self._amount - self._used)
        dropped = []
        for (whole, short), small in zip(offers, smallest, strict=True):
            # Only what the others don't need is spent on showing this one whole.
            chosen = short if short and whole.cost - small > remaining else whole
            if reason := self._add(whole, chosen):
                dropped.append(_drop(whole.item.hit, reason))
            elif chosen is whole:
                remaining -= whole.cost - small
        return dropped

    def _offer(self, hit: Hit, fair: int) -> tuple[_Piece, _Piece | None]:
        """Return the hit whole and, if that is more than its share, in short."""
        item = ContextItem(hit, hit.chunk.text)
        # Counting tokens is the dearest step of packing: what can't fit anyway needs no exact count.
        too_long = len(item.text) > FAR_TOO_LONG * fair
        whole = _Piece(item, max(self._amount + 1, len(item.text) // 4)) if too_long else self._piece(item)
        if whole.cost <= fair:
            return whole, None
        budget = fair - self._overhead(replace(item, elided=True)) - self._joint
        short = excerpt(hit, budget, whole.cost, self._measure) or signature_only(hit)
        return whole, self._piece(short) if short else None

    def _add(self, whole: _Piece, chosen: _Piece) -> str | None:
        """Place the hit as chosen, joined to its neighbours or as its signature; else say why not."""
        hit = whole.item.hit
        for other in self._of_file.get(hit.chunk.path, ()):
            span = other.item.hit.chunk.span
            if span.overlaps(hit.chunk.span):
                return f"overlaps lines {span.start_line}-{span.end_line}"
        if (chosen is whole and self._joins and self._join(whole)) or self._place(chosen):
            return None
        signature = signature_only(hit)
        return None if signature is not None and self._place(self._piece(signature)) else DOES_NOT_FIT

    def _piece(self, item: ContextItem) -> _Piece:
        return _Piece(item, self._measure(self._shape.block(item)) + self._joint)

    def _overhead(self, item: ContextItem) -> int:
        return self._measure(self._shape.block(replace(item, text="")))

    def _place(self, piece: _Piece) -> bool:
        # The first piece has no joint before it.
        if self._used + piece.cost - (0 if self.pieces else self._joint) > self._amount:
            return False
        self._used += piece.cost - (0 if self.pieces else self._joint)
        self.pieces.append(piece)
        self._of_file.setdefault(piece.item.hit.chunk.path, []).append(piece)
        return True

    def _join(self, piece: _Piece) -> bool:
        """Make the piece one with those that stand right before and after it, if that fits."""
        mates = self._of_file.get(piece.item.hit.chunk.path, [])
        before = next((mate for mate in mates if follows(mate.item, piece.item)), None)
        after = next((mate for mate in mates if follows(piece.item, mate.item)), None)
        grown = piece
        absorbed: list[_Piece] = []
        for mate in (before, after):
            if mate is None:
                continue
            # The better of the two lends its score and its place; pieces that were placed before are better.
            pair = (mate, grown) if mate is before else (grown, mate)
            made = self._made_one(pair, better=mate if not absorbed or self._is_better(mate, absorbed[0]) else grown)
            if made is not None:
                grown = made
                absorbed.append(mate)
        extra = grown.cost - sum(mate.cost for mate in absorbed)
        if not absorbed or self._used + extra > self._amount:
            return False
        self._used += extra
        best = min(absorbed, key=self.pieces.index)
        self.pieces[self.pieces.index(best)] = grown
        mates[mates.index(best)] = grown
        for mate in absorbed:
            if mate is not best:
                self.pieces.remove(mate)
                mates.remove(mate)
        return True

    def _is_better(self, one: _Piece, other: _Piece) -> bool:
        return self.pieces.index(one) < self.pieces.index(other)

    def _made_one(self, pair: tuple[_Piece, _Piece], *, better: _Piece) -> _Piece | None:
        first, second = pair
        made = joined(first.item, second.item, better.item, self._read_lines)
        if made is None:
            return None
        item, between = made
        heads = self._overhead(item) - self._overhead(first.item) - self._overhead(second.item)
        return _Piece(item, first.cost + second.cost - self._joint + heads + self._measure(between) + 1)


def _as_many_as_fit(costs: Sequence[int], budget: int) -> int:
    """Return the sum of the costs, in order, of all that fit."""
    used = 0
    for cost in costs:
        if used + cost <= budget:
            used += cost
    return used


def _drop(hit: Hit, reason: str) -> Dropped:
    return Dropped(hit.chunk.path, hit.chunk.span.start_line, hit.chunk.span.end_line, reason)
