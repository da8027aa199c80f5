"""Lines that the person selected or attached, as hits that come before whatever is found."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from carrel.agent.tools.scope import Scope
from carrel.model.lines import rows_of
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, ChunkInfo
from carrel.model.types import Chunk, Dropped, Hit, Lines, Query, Signals, Span, masks_in

NOT_THERE = "these lines are not in the index: the file is not indexed, or has fewer lines"
ENDS = "the file ends at line {last}"
LEFT_OUT = "left out of this question"


def attached_hits(
    view: SnapshotView, places: Sequence[Lines], query: Query, cancel: CancelToken
) -> tuple[list[Hit], list[Dropped]]:
    """Return a hit for each place with its text as it stands now, and which places can't be given.

    Places of a file that overlap are one. Each hit has the lines that were chosen and no others; of those behind the end of the
    file it is said that they aren't there.
    """
    hits: list[Hit] = []
    dropped: list[Dropped] = []
    hidden = Scope(query.filters.exclude, query.left_out)
    for place in _merged(places):
        if hidden.hides_lines(place.path, place.start_line, place.end_line):
            dropped.append(_drop(place, LEFT_OUT))
            continue
        chunks = view.file_chunks(place.path)
        if chunks and hidden.hides(view, place.path, cancel):
            dropped.append(_drop(place, LEFT_OUT))
            continue
        rows = rows_of(view.text(place.path) or "") if chunks else []
        if not 1 <= place.start_line <= place.end_line or place.start_line > len(rows):
            dropped.append(_drop(place, NOT_THERE))
            continue
        if place.end_line > len(rows):
            dropped.append(_drop(replace(place, start_line=len(rows) + 1), ENDS.format(last=len(rows))))
        hits.append(_hit(replace(place, end_line=min(place.end_line, len(rows))), rows, chunks))
    return hits, dropped


def _merged(places: Sequence[Lines]) -> list[Lines]:
    """Return the places in their order, those of one file that overlap as one."""
    merged: list[Lines] = []
    for place in places:
        joined = place
        for other in [other for other in merged if _overlap(other, joined)]:
            merged.remove(other)
            start, end = min(other.start_line, joined.start_line), max(other.end_line, joined.end_line)
            joined = Lines(place.path, start, end)
        merged.append(joined)
    return merged


def _overlap(first: Lines, second: Lines) -> bool:
    return first.path == second.path and first.start_line <= second.end_line and second.start_line <= first.end_line


def _hit(place: Lines, rows: Sequence[str], chunks: Sequence[ChunkInfo]) -> Hit:
    around = next((c for c in chunks if c.start_line <= place.start_line and place.end_line <= c.end_line), None)
    chosen = rows[place.start_line - 1 : place.end_line]
    text = "".join(chosen)
    here = around or chunks[0]
    last = chosen[-1].rstrip("\r\n")
    chunk = Chunk(
        id=f"attached:{place.path}:{place.start_line}-{place.end_line}",
        path=place.path,
        language=here.language,
        source=here.source,
        kind=around.kind if around else "lines",
        symbol=around.symbol if around else "",
        container=around.container if around else "",
        signature=around.signature if around else "",
        definitions=tuple(around.definitions) if around else (),
        span=Span(place.start_line, place.end_line, 0, len(last.encode("utf-16-le")) // 2),
        text=text,
        content_hash=here.content_hash,
        updated_at=here.updated_at,
        masked=masks_in(text),
    )
    return Hit(chunk, 1.0, Signals(), (place.start_line, place.end_line), attached=True)


def _drop(place: Lines, reason: str) -> Dropped:
    return Dropped(place.path, place.start_line, place.end_line, reason)
