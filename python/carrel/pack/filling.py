"""Fill a budget with pieces of files. The budget is never exceeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, ContextItem, Dropped, Format, Hit
from carrel.pack.formats import Form, PlacesForm, form_of
from carrel.search.pieces import LineReader, excerpt, follows, joined, signature_only

DOES_NOT_FIT = "does not fit the budget"
FAR_TOO_LONG = 16
"""A text of more characters for each token of a share than this is longer than the budget: code has about four."""
FAIR_SHARES = 4
"""While others wait, a hit gets no more than the budget over this (or over the number of hits, if they are fewer)."""


class Piece(Struct, eq=False):
    """An item with its cost, in the budget's unit."""

    item: ContextItem
    cost: int


class Filling:
    """A pack that is being filled. Each text is measured once, when it enters: the work is linear in what is offered."""

    def __init__(self, budget: Budget, tokenizer: Tokenizer, form: Format | Form, read_lines: LineReader | None) -> None:
        self.pieces: list[Piece] = []  # best first
        self.shape: Form = form_of(form) if isinstance(form, str) else form
        self.measure: Callable[[str], int] = len if budget.unit == "chars" else tokenizer.count
        self._of_file: dict[str, list[Piece]] = {}
        self.amount = budget.amount
        self._read_lines = read_lines
        self._joins = not isinstance(self.shape, PlacesForm)
        self.used = self.measure(self.shape.head + self.shape.tail)
        # A joint is counted as if it shared no token with what stands around it.
        self.joint = self.measure(self.shape.joint) + (1 if self.shape.joint else 0)

    def fill(self, hits: Sequence[Hit]) -> list[Dropped]:
        """Place what fits; return what doesn't, with reasons."""
        left = self.amount - self.used
        fair = left // max(1, min(FAIR_SHARES, len(hits)))
        # Nobody needs room more than what the person chose themselves.
        attached = left // max(1, sum(hit.attached for hit in hits))
        offers = [self._offer(hit, attached if hit.attached else fair) for hit in hits]
        smallest = [short.cost if short else whole.cost for whole, short in offers]
        remaining = left - _as_many_as_fit(smallest, left)
        dropped = []
        for (whole, short), small in zip(offers, smallest, strict=True):
            # Only what the others don't need is spent on showing this one whole.
            chosen = short if short and whole.cost - small > remaining else whole
            if reason := self._add(whole, chosen):
                dropped.append(drop(whole.item.hit, reason))
            elif chosen is whole:
                remaining -= whole.cost - small
        return dropped

    def _offer(self, hit: Hit, fair: int) -> tuple[Piece, Piece | None]:
        """Return the hit whole and, if that is more than its share, in short."""
        item = ContextItem(hit, hit.chunk.text)
        # Counting tokens is the dearest step of packing: what can't fit anyway needs no exact count.
        too_long = len(item.text) > FAR_TOO_LONG * fair
        whole = Piece(item, max(self.amount + 1, len(item.text) // 4)) if too_long else self.piece(item)
        if whole.cost <= fair:
            return whole, None
        budget = fair - self.overhead(replace(item, elided=True)) - self.joint
        short = excerpt(hit, budget, whole.cost, self.measure) or signature_only(hit)
        return whole, self.piece(short) if short else None

    def _add(self, whole: Piece, chosen: Piece) -> str | None:
        """Place the hit as chosen, joined to its neighbours or as its signature; else say why not."""
        hit = whole.item.hit
        for other in self._of_file.get(hit.chunk.path, ()):
            span = other.item.hit.chunk.span
            if span.overlaps(hit.chunk.span):
                return f"overlaps lines {span.start_line}-{span.end_line}"
        if (chosen is whole and self._joins and self._join(whole)) or self.place(chosen):
            return None
        signature = signature_only(hit)
        return None if signature is not None and self.place(self.piece(signature)) else DOES_NOT_FIT

    def piece(self, item: ContextItem) -> Piece:
        """Return an item with its cost."""
        return Piece(item, self.measure(self.shape.block(item)) + self.joint)

    def overhead(self, item: ContextItem) -> int:
        """Return what an item costs beside its text."""
        return self.measure(self.shape.block(replace(item, text="")))

    def spend(self, cost: int) -> bool:
        """Take so much of what is left, if there is as much."""
        if self.used + cost > self.amount:
            return False
        self.used += cost
        return True

    def place(self, piece: Piece) -> bool:
        """Place a piece, if it fits."""
        # The first piece has no joint before it.
        if not self.spend(piece.cost - (0 if self.pieces else self.joint)):
            return False
        self.pieces.append(piece)
        self._of_file.setdefault(piece.item.hit.chunk.path, []).append(piece)
        return True

    def _join(self, piece: Piece) -> bool:
        """Make the piece one with those that stand right before and after it, if that fits."""
        mates = self._of_file.get(piece.item.hit.chunk.path, [])
        before = next((mate for mate in mates if follows(mate.item, piece.item)), None)
        after = next((mate for mate in mates if follows(piece.item, mate.item)), None)
        grown = piece
        absorbed: list[Piece] = []
        for mate in (before, after):
            if mate is None:
                continue
            # The better of the two lends its score and its place; pieces that were placed before are better.
            pair = (mate, grown) if mate is before else (grown, mate)
            made = self._made_one(pair, better=mate if not absorbed or self._is_better(mate, absorbed[0]) else grown)
            if made is not None:
                grown = made
                absorbed.append(mate)
        if not absorbed or not self.spend(grown.cost - sum(mate.cost for mate in absorbed)):
            return False
        best = min(absorbed, key=self.pieces.index)
        self.pieces[self.pieces.index(best)] = grown
        mates[mates.index(best)] = grown
        for mate in absorbed:
            if mate is not best:
                self.pieces.remove(mate)
                mates.remove(mate)
        return True

    def _is_better(self, piece: Piece, other: Piece) -> bool:
        return self.pieces.index(piece) < self.pieces.index(other)

    def _made_one(self, pair: tuple[Piece, Piece], *, better: Piece) -> Piece | None:
        first, second = pair
        made = joined(first.item, second.item, better.item, self._read_lines)
        if made is None:
            return None
        item, between = made
        heads = self.overhead(item) - self.overhead(first.item) - self.overhead(second.item)
        return Piece(item, first.cost + second.cost - self.joint + heads + self.measure(between) + 1)


def _as_many_as_fit(costs: Sequence[int], budget: int) -> int:
    """Return the sum of the costs, in order, of all that fit."""
    used = 0
    for cost in costs:
        if used + cost <= budget:
            used += cost
    return used


def drop(hit: Hit, reason: str) -> Dropped:
    """Return a hit as left out."""
    return Dropped(hit.chunk.path, hit.chunk.span.start_line, hit.chunk.span.end_line, reason)
