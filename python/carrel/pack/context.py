"""Pack hits into the text that goes to a chat. The budget is never exceeded, by a tag or by a token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from carrel.model.native import CancelToken
from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, ContextItem, ContextPack, Dropped, Format, Hit, Query
from carrel.model.wording import counted
from carrel.pack.filling import DOES_NOT_FIT, FAR_TOO_LONG, Filling, drop
from carrel.pack.formats import Form, PlacesForm, attribute, form_of, without_text
from carrel.pack.places import PlaceFilling
from carrel.search.name_relations import related
from carrel.search.passages import Choice, Offer, Passage, choice, offer, whole_definition
from carrel.search.pieces import LineReader
from carrel.search.retriever import Ranking

TOO_MANY = "other places say more about the question, and no more may be shown"
MOST_OF_ONE = 5 / 6
"""A definition is shown whole up to this share of a budget: the rest is for what stands around it."""
_NAMED = 3
"""Files that a line names of those that were left out."""
TOO_WEAK = "it says far less about the question than the best place"


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
    filling = Filling(budget, tokenizer, form, read_lines)
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
    """Fill the budget with the lines that answer, of at most as many places as hits are asked for.

    `hits` are what was read of the ranking, none where nothing is relevant. What a person `attached` comes first. Raises
    `Cancelled`.
    """
    if not hits or not shows_lines(form):
        hits = (*attached, *hits)
        return pack(hits, budget, tokenizer, query=query.text, form=form, dropped=dropped, read_lines=read_lines)
    return pack_offer(
        offered(ranking, hits, query, cancel),
        query,
        budget,
        tokenizer,
        last_line=ranking.view.last_line,
        attached=attached,
        form=form,
        dropped=dropped,
        read_lines=read_lines,
    )


def shows_lines(form: Format | Form) -> bool:
    """Tell whether a form shows lines that can be chosen, and not places alone."""
    return not isinstance(form_of(form) if isinstance(form, str) else form, PlacesForm)


def offered(ranking: Ranking, hits: Sequence[Hit], query: Query, cancel: CancelToken) -> Offer:
    """Return what a search offers for a pack, with the lines that answer a question about a name. Raises `Cancelled`."""
    return replace(
        offer(ranking, hits, query, cancel),
        related=related(ranking, hits, query, cancel),
        whole=whole_definition(ranking, hits, query, cancel),
    )


def pack_offer(
    offer: Offer,
    query: Query,
    budget: Budget,
    tokenizer: Tokenizer,
    *,
    last_line: Callable[[str], int],
    attached: Sequence[Hit] = (),
    form: Format | Form = "xml",
    dropped: Sequence[Dropped] = (),
    read_lines: LineReader | None = None,
) -> ContextPack:
    """Fill the budget with the best lines of what is offered. `last_line` gives the number of a file's last line."""
    filters = query.filters
    of_chunks = filters.symbol is not None or filters.metadata or filters.min_score is not None
    whole = offer.whole if _fits(offer.whole, budget, tokenizer) else ()
    return pack_passages(
        choice(offer).after((*whole, *offer.related), query.limit),
        offer.hits,
        budget,
        tokenizer,
        most=query.limit,
        attached=attached,
        query=query.text,
        form=form,
        dropped=dropped,
        read_lines=read_lines,
        # What was asked of chunks holds for no lines beside them.
        last_line=None if of_chunks else last_line,
    )


def _fits(passages: Sequence[Passage], budget: Budget, tokenizer: Tokenizer) -> bool:
    """Tell whether passages take no more of a budget than may be spent on one thing."""
    texts = [passage.hit.chunk.text for passage in passages]
    room = budget.amount * MOST_OF_ONE
    if budget.unit == "chars":
        return sum(map(len, texts)) <= room
    return sum(map(len, texts)) <= FAR_TOO_LONG * room and sum(map(tokenizer.count, texts)) <= room


def pack_passages(
    choice: Choice,
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
    last_line: Callable[[str], int] | None = None,
) -> ContextPack:
    """Fill the budget with passages, of at most `most` places, which stand in the order of their scores.

    `hits` are what the search lists: those of which nothing is shown are named as left out. What is `attached` comes before all
    and isn't shown twice. What is left of the budget shows more lines around the places, where `last_line` gives the number of
    a file's last line. The rest is as for `pack`.
    """
    filling = Filling(budget, tokenizer, form, read_lines)
    left_out = [*dropped, *filling.fill(attached)]
    order = [*(passage.hit.chunk.id for passage in choice.first), *(hit.chunk.id for hit in hits)]
    places = PlaceFilling(filling, most, read_lines, list(dict.fromkeys(order)))
    for passage in choice.first:
        places.begin(passage)
    if last_line is not None:
        places.close()
    places.fill(choice.passages)
    if last_line is not None:
        places.grow(last_line)
    places.finish()
    shown = [piece.item.hit.chunk for piece in filling.pieces]
    offered = {passage.hit.chunk.id for passage in choice.passages}
    for hit in hits:
        chunk = hit.chunk
        if any(c.path == chunk.path and c.span.overlaps(chunk.span) for c in shown):
            continue
        reason = DOES_NOT_FIT if chunk.id in offered else TOO_WEAK
        left_out.append(drop(hit, places.refused.get(chunk.id, reason) or TOO_MANY))
    return _packed(filling, budget, tokenizer, query, form, left_out)


def _packed(
    filling: Filling, budget: Budget, tokenizer: Tokenizer, query: str, form: Format | Form, left_out: list[Dropped]
) -> ContextPack:
    """Render what was filled in, and take off the last pieces while that is more than the budget."""
    name: Format = form if isinstance(form, str) else "source"
    shape, measure = filling.shape, filling.measure
    items = [piece.item for piece in filling.pieces]
    text = render(items, shape)
    # Costs were added up by parts. The tokens of a whole are seldom more than those of its parts, but they can be.
    size = measure(text)
    while items and size > budget.amount:
        left_out.append(drop(items.pop().hit, DOES_NOT_FIT))
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


def further_places(pack: ContextPack, tokenizer: Tokenizer) -> str:
    """Return a line that says where else the question could be answered; empty where nowhere, or where it doesn't fit."""
    left_out = [drop for drop in pack.dropped if drop.reason in (DOES_NOT_FIT, TOO_MANY)]
    paths = list(dict.fromkeys(drop.path for drop in left_out))
    if not paths:
        return ""
    named = ", ".join(attribute(path) for path in paths[:_NAMED]) + (", …" if len(paths) > _NAMED else "")
    line = f"Not shown for want of room: {counted(len(left_out), 'more place')} in {named}"
    size = tokenizer.count(f"{pack.text}\n{line}") if pack.budget.unit == "tokens" else len(pack.text) + 1 + len(line)
    return line if size <= pack.budget.amount else ""


def with_items(pack: ContextPack, items: Sequence[ContextItem], form: Form, tokenizer: Tokenizer) -> ContextPack:
    """Return a pack with some of its items alone, best first."""
    text = render(items, form)
    return replace(pack, text=text, tokens=tokenizer.count(text), items=tuple(items))


def render(items: Sequence[ContextItem], shape: Form) -> str:
    """Give the items, best first, as one text of this form."""
    if not items:
        return shape.empty
    ordered = list(items)
    if shape.by_place:
        best_of_file: dict[str, int] = {}
        for place, item in enumerate(items):
            best_of_file.setdefault(item.hit.chunk.path, place)
        chosen = {item.hit.chunk.id: place for place, item in enumerate(items) if item.hit.attached}  # in the person's order
        ordered.sort(
            key=lambda i: (
                chosen.get(i.hit.chunk.id, len(items)),
                best_of_file[i.hit.chunk.path],
                i.hit.chunk.span.start_line,
            )
        )
    return shape.head + shape.joint.join(shape.block(item) for item in ordered) + shape.tail
