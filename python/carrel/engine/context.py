"""Pack hits into the text that goes to a chat (spec B5, E2, E5). The budget is never exceeded, by a tag or by a token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from carrel.core.native import CancelToken
from carrel.core.ports import Tokenizer
from carrel.core.types import Budget, ContextItem, ContextPack, Dropped, Format, Hit, Query
from carrel.engine.formats import Form, PlacesForm, form_of, without_text
from carrel.engine.passages import Passage, find_passages, rows_of
from carrel.engine.pieces import LineReader, excerpt, follows, joined, signature_only
from carrel.engine.retriever import Ranking

DOES_NOT_FIT = "does not fit the budget"
FAR_TOO_LONG = 16
"""A text of more characters for each token of a share than this is longer than the budget: code has about four."""
LEAST_FRESH_LINES = 3
"""A passage that adds fewer lines to what is shown is no place of its own."""
TOKENS_A_FILE = 700
"""For each so many tokens of the budget one more of the best files has a passage before all others."""
LEAST_HITS = 20
"""A pack of fewer hits is made of the hits: a few short passages would take the places of the best ones."""
PIECES_A_FILE = 3
"""The same for each so many pieces."""
CHARACTERS_A_TOKEN = 4
MOST_MISSES = 12
"""After so many passages in a row that don't fit, the pack is full."""
TOO_LONG = 6
"""Lines of more characters for each token that is left are not counted: code has about four."""
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
    filling = _Filling(budget, tokenizer, form, read_lines)
    if isinstance(filling.shape, PlacesForm):  # nothing is shown that could be shortened, or joined to its neighbour
        hits = [without_text(hit) for hit in hits]
    # The retriever's order stands: relevance is an estimate, the order is the verdict.
    left_out = [*dropped, *filling.fill(hits)]
    return _packed(filling, budget, tokenizer, query, form, left_out)


def pack_answer(
    ranking: Ranking,
    hits: Sequence[Hit],
    query: Query,
    budget: Budget,
    tokenizer: Tokenizer,
    cancel: CancelToken,
    *,
    attached: Sequence[Hit] = (),
    form: Format | Form = "xml",
    dropped: Sequence[Dropped] = (),
    read_lines: LineReader | None = None,
) -> ContextPack:
    """Fill the budget with the lines that answer: the passages of all candidates, or the hits where there are none to choose or
    few are asked for.

    `hits` are what was read of the ranking, none where nothing is relevant. What a person `attached` comes first. Raises
    `Cancelled`.
    """
    places_only = isinstance(form_of(form) if isinstance(form, str) else form, PlacesForm)
    if hits and query.limit >= LEAST_HITS and not places_only and (passages := find_passages(ranking, query, cancel)):
        packed = pack_passages(
            passages,
            hits,
            budget,
            tokenizer,
            most=query.limit,
            attached=attached,
            query=query.text,
            form=form,
            dropped=dropped,
            read_lines=read_lines,
        )
        if len(packed.items) > len(attached):
            return packed
    # A budget too small for any passage may hold a signature.
    return pack((*attached, *hits), budget, tokenizer, query=query.text, form=form, dropped=dropped, read_lines=read_lines)


def pack_passages(
    passages: Sequence[Passage],
    hits: Sequence[Hit],
    budget: Budget,
    tokenizer: Tokenizer,
    *,
    most: int,
    attached: Sequence[Hit] = (),
    query: str = "",
    form: Format | Form = "xml",
    dropped: Sequence[Dropped] = (),
    read_lines: LineReader | None = None,
) -> ContextPack:
    """Fill the budget with passages, as at most `most` pieces; those of one place are shown as one piece.

    `hits` are what the search lists. The best passage of each of their first files comes first, then all others in their order:
    which files answer is surer than which lines do. Hits of which nothing is shown are named as left out. What is `attached`
    comes before all and isn't shown twice. The rest is as for `pack`.
    """
    tokens = budget.amount if budget.unit == "tokens" else budget.amount // CHARACTERS_A_TOKEN
    filling = _Filling(budget, tokenizer, form, read_lines)
    files = min(1 + tokens // TOKENS_A_FILE, max(1, most // PIECES_A_FILE))
    left_out = [*dropped, *filling.fill(attached)]
    others = [passage for passage in passages if not any(_overlap(passage, hit) for hit in attached)]
    filling.fill_with(_best_files_first(others, hits, files), most + len(attached))
    shown = [piece.item.hit.chunk for piece in filling.pieces]
    missing = (hit for hit in hits if not any(c.path == hit.chunk.path and c.span.overlaps(hit.chunk.span) for c in shown))
    left_out += (_drop(hit, DOES_NOT_FIT) for hit in missing)
    return _packed(filling, budget, tokenizer, query, form, left_out)


def _overlap(passage: Passage, hit: Hit) -> bool:
    chunk, span = passage.hit.chunk, hit.chunk.span
    first = chunk.span.start_line + passage.first
    return chunk.path == hit.chunk.path and first <= span.end_line and span.start_line < first + passage.count


def _best_files_first(passages: Sequence[Passage], hits: Sequence[Hit], files: int) -> list[Passage]:
    best: dict[str, Passage] = {}
    for passage in passages:
        best.setdefault(passage.hit.chunk.path, passage)
    paths = list(dict.fromkeys(hit.chunk.path for hit in hits))[:files]
    first = [best[path] for path in paths if path in best]
    return [*first, *(passage for passage in passages if best[passage.hit.chunk.path] is not passage or passage not in first)]


def _packed(
    filling: _Filling, budget: Budget, tokenizer: Tokenizer, query: str, form: Format | Form, left_out: list[Dropped]
) -> ContextPack:
    """Render what was filled in, and take off the last pieces while that is more than the budget."""
    name: Format = form if isinstance(form, str) else "source"
    shape, measure = filling.shape, filling.measure
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


@dataclass(slots=True, eq=False)
class _ShownChunk:
    """What is shown of one chunk: its lines from 0, as runs with their pieces."""

    rows: list[str]
    lines: set[int] = field(default_factory=set)
    runs: dict[Passage, _Piece] = field(default_factory=dict)
    changed: set[Passage] = field(default_factory=set)

    def fresh(self, passage: Passage) -> list[int]:
        return [n for n in range(passage.first, passage.first + passage.count) if n not in self.lines]

    def beside(self, passage: Passage) -> list[Passage]:
        """Return the runs that a passage overlaps or follows at once."""
        return [run for run in self.runs if run.touches(passage)]

    def grown(self) -> list[tuple[Passage, _Piece]]:
        return [(run, piece) for run, piece in self.runs.items() if run in self.changed]


class _Filling:
    """A pack that is being filled. Each text is measured once, when it enters: the work is linear in what is offered."""

    def __init__(self, budget: Budget, tokenizer: Tokenizer, form: Format | Form, read_lines: LineReader | None) -> None:
        self.pieces: list[_Piece] = []  # best first
        self.shape: Form = form_of(form) if isinstance(form, str) else form
        self.measure: Callable[[str], int] = len if budget.unit == "chars" else tokenizer.count
        self._of_file: dict[str, list[_Piece]] = {}
        self._amount = budget.amount
        self._read_lines = read_lines
        self._joins = not isinstance(self.shape, PlacesForm)
        self._used = self.measure(self.shape.head + self.shape.tail)
        # A joint is counted as if it shared no token with what stands around it.
        self._joint = self.measure(self.shape.joint) + (1 if self.shape.joint else 0)

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

    def fill_with(self, passages: Sequence[Passage], most: int) -> None:
        """Place passages in their order until nothing more fits, as at most so many pieces."""
        of_chunk: dict[str, _ShownChunk] = {}
        misses = 0
        for passage in passages:
            chunk = passage.hit.chunk
            shown = of_chunk.get(chunk.id)
            if shown is None:
                shown = of_chunk[chunk.id] = _ShownChunk(rows_of(chunk))
            fresh = shown.fresh(passage)
            if len(fresh) < min(LEAST_FRESH_LINES, passage.count):
                continue
            text = "\n".join(shown.rows[n] for n in fresh)
            if len(text) > TOO_LONG * (self._amount - self._used):
                placed = False  # it isn't worth the counting
            elif old := shown.beside(passage):
                placed = self._grow(old, passage, self.measure(text) + 1, shown)
            else:
                placed = len(self.pieces) < most and self._begin(passage, shown)
            misses = 0 if placed else misses + 1
            if placed:
                shown.lines.update(fresh)
            elif misses == MOST_MISSES:
                break
        for shown in of_chunk.values():
            for run, piece in shown.grown():
                piece.item = run.item(shown.rows)

    def _begin(self, passage: Passage, shown: _ShownChunk) -> bool:
        """Place a passage as a piece of its own, or joined to its neighbours."""
        piece = self._piece(passage.item(shown.rows))
        if not ((passage.is_whole and self._join(piece)) or self._place(piece)):
            return False
        shown.runs[passage] = piece
        return True

    def _grow(self, old: Sequence[Passage], passage: Passage, cost: int, shown: _ShownChunk) -> bool:
        """Make one piece of those that a passage touches, if the lines that it adds fit. Its item is made in the end."""
        if self._used + cost > self._amount:
            return False
        self._used += cost
        best, *others = sorted((shown.runs[run] for run in old), key=self.pieces.index)
        best.cost += cost + sum(piece.cost for piece in others)
        for piece in others:
            self.pieces.remove(piece)
            self._of_file[passage.hit.chunk.path].remove(piece)
        for run in old:
            passage = passage.joined(run)
            del shown.runs[run]
        shown.runs[passage] = best
        shown.changed.add(passage)
        return True

    def _offer(self, hit: Hit, fair: int) -> tuple[_Piece, _Piece | None]:
        """Return the hit whole and, if that is more than its share, in short."""
        item = ContextItem(hit, hit.chunk.text)
        # Counting tokens is the dearest step of packing: what can't fit anyway needs no exact count.
        too_long = len(item.text) > FAR_TOO_LONG * fair
        whole = _Piece(item, max(self._amount + 1, len(item.text) // 4)) if too_long else self._piece(item)
        if whole.cost <= fair:
            return whole, None
        budget = fair - self._overhead(replace(item, elided=True)) - self._joint
        short = excerpt(hit, budget, whole.cost, self.measure) or signature_only(hit)
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
        return _Piece(item, self.measure(self.shape.block(item)) + self._joint)

    def _overhead(self, item: ContextItem) -> int:
        return self.measure(self.shape.block(replace(item, text="")))

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
        return _Piece(item, first.cost + second.cost - self._joint + heads + self.measure(between) + 1)


def _as_many_as_fit(costs: Sequence[int], budget: int) -> int:
    """Return the sum of the costs, in order, of all that fit."""
    used = 0
    for cost in costs:
        if used + cost <= budget:
            used += cost
    return used


def _drop(hit: Hit, reason: str) -> Dropped:
    return Dropped(hit.chunk.path, hit.chunk.span.start_line, hit.chunk.span.end_line, reason)
