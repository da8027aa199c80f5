"""Hits and passages of several workspace folders, as of one.

Paths begin with the folder's name, which tells files of one name apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from carrel.model.types import ContextItem, Dropped, Filters, Hit
from carrel.search.candidates import literal_glob
from carrel.search.explain import Explanation, explain_ranked
from carrel.search.passages import Offer, Passage
from carrel.search.retriever import Retrieval


def named_hit(hit: Hit, name: str) -> Hit:
    """Return a hit of the folder of this name. Chunks of one content have the same id in each folder: it gets the name, too."""
    chunk = hit.chunk
    return replace(hit, chunk=replace(chunk, id=f"{name}/{chunk.id}", path=f"{name}/{chunk.path}", folder=name))


def plain_hit(hit: Hit) -> Hit:
    """Return a hit as its folder alone gives it."""
    chunk = hit.chunk
    if not chunk.folder:
        return hit
    return replace(hit, chunk=replace(chunk, id=chunk.id.removeprefix(f"{chunk.folder}/"), path=chunk.path_in_folder, folder=""))


def named_drop(drop: Dropped, name: str) -> Dropped:
    """Return what was left out of the folder of this name."""
    return replace(drop, path=f"{name}/{drop.path}")


def named_offer(offer: Offer, name: str) -> Offer:
    """Return the offer of the folder of this name."""

    def named(passages: Sequence[Passage]) -> tuple[Passage, ...]:
        return tuple(replace(passage, hit=named_hit(passage.hit, name)) for passage in passages)

    return replace(
        offer,
        hits=tuple(named_hit(hit, name) for hit in offer.hits),
        chunks=tuple((named_hit(hit, name), share) for hit, share in offer.chunks),
        sure=tuple(named_hit(hit, name) for hit in offer.sure),
        related=named(offer.related),
        whole=named(offer.whole),
    )


def explained_in(retrieval: Retrieval, items: Sequence[ContextItem], name: str) -> list[Explanation]:
    """Explain every candidate of the folder of this name, where `items` are those of a pack of several folders."""
    here = [replace(item, hit=plain_hit(item.hit)) for item in items if item.hit.chunk.folder == name]
    explanations = explain_ranked(retrieval, here, packed=bool(items))
    return [replace(explanation, path=f"{name}/{explanation.path}") for explanation in explanations]


def filters_in(filters: Filters, names: Sequence[str], inner: Sequence[str]) -> Filters:
    """Return filters as they count in the folder of these names: globs may begin with one, as paths of an answer do.

    What lies in an `inner` folder, which answers by itself, is left out.
    """
    return replace(
        filters,
        path_globs=(*filters.path_globs, *_without(filters.path_globs, names)),
        exclude=(*filters.exclude, *_without(filters.exclude, names), *(literal_glob(path) for path in inner)),
    )


def _without(globs: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return those of the globs that begin with a name of the folder, without it; of the name alone, what matches every file.

    As in a folder, `./` and slashes at both ends of a glob say nothing.
    """
    heads = dict.fromkeys(head for name in names for head in (f"{name}/", literal_glob(f"{name}/")))
    typed = [f"{glob.removeprefix('./').strip('/')}/" for glob in globs]
    return [glob.removeprefix(head).rstrip("/") or "**" for glob in typed for head in heads if glob.startswith(head)]
