"""What every search finds for a question, each candidate with all signals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from carrel.model import native
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, Candidate, Filter, ReadFiles
from carrel.model.patterns import whole_word
from carrel.model.types import Filters, Query
from carrel.question import query_words
from carrel.question.prepare import SearchText
from carrel.search.ranking import RankingContext

CANDIDATES_A_HIT = 5
"""How many candidates each search gives for each hit that is asked for."""
MINIMUM_POOL = 60
MAXIMUM_POOL = 250
SECONDS_A_DAY = 86_400
_MOST_NAMES = 3
"""So many names of a question are looked at: each is compared with all that the code defines."""


class Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Book the time since the last lap on `stage`."""
        now = time.perf_counter()
        self.stages[stage] = round(self.stages.get(stage, 0.0) + 1000 * (now - self._last), 3)
        self._last = now


def search(
    view: SnapshotView,
    text: SearchText,
    query: Query,
    floor: float,
    cancel: CancelToken,
    *,
    quotes: bool = True,
    files: ReadFiles | None = None,
) -> tuple[list[Candidate], RankingContext]:
    """Ask every search for a text and give each candidate all signals, in one call of the index.

    Limit, filters and files are those of `query`; `floor` is the cosine below which a dense hit is noise. With `quotes` the texts
    of those that hold most of the question are read for what they hold of it word for word; `files` keeps what was read whole.
    """
    [result] = search_each(view, [text], query, floor, cancel, quotes=quotes, files=files)
    return result


def search_each(
    view: SnapshotView,
    texts: Sequence[SearchText],
    query: Query,
    floor: float,
    cancel: CancelToken,
    *,
    quotes: bool = True,
    messages: Sequence[SearchText] = (),
    files: ReadFiles | None = None,
) -> list[tuple[list[Candidate], RankingContext]]:
    """Do `search` for several texts, in one call of the index for all of them; then for `messages`, always with `quotes`.

    With a filter the whole index is asked as well, so that the same evidence counts for a hit as without one.
    """
    parsed = [text.parsed(quotes=quotes) for text in texts] + [text.parsed(quotes=True) for text in messages]
    pinned = None
    if query.pinned:  # what a person pinned is always a candidate
        globs = [literal_glob(path) for path in query.pinned]
        pinned = Filter(path_globs=globs, exclude_globs=query.filters.exclude), query.limit
    ask = partial(
        view.find,
        parsed,
        pool=pool_size(query.limit),
        floor=floor,
        pinned=pinned,
        active_path=query.active_path,
        cancel=cancel,
        files=files,
    )
    chosen = native_filter(query.filters)
    results = ask(filter=chosen)
    everywhere = [candidates for candidates, _ in ask(filter=None)] if chosen else [[]] * len(results)
    return [
        (
            _as_in(everything, candidates),
            RankingContext(text.question, rarities, native, documents=query.documents, everywhere=everything),
        )
        for text, native, (candidates, rarities), everything in zip((*texts, *messages), parsed, results, everywhere, strict=True)
    ]


def _as_in(everywhere: Sequence[Candidate], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with the signals that they have among those of the whole index."""
    by_number = {candidate.doc: candidate for candidate in everywhere}
    return [by_number.get(candidate.doc, candidate) for candidate in candidates]


def corrected(view: SnapshotView, search_text: SearchText, candidates: Sequence[Candidate]) -> SearchText | None:
    """Return what to search for in place of a text whose names are mistyped; None where none is, or nothing is near.

    `candidates` are those of the text as it stands: where one defines what it names, it is right. A name is mistyped if no
    code defines it and no text has it. A change may name what isn't there yet.
    """
    question = search_text.question
    if question.is_change or question.is_small_talk or any(candidate.defines for candidate in candidates):
        return None
    text = question.text
    for name in question.names[:_MOST_NAMES]:
        if near := view.near_names(name, 1):
            text = whole_word(name).sub(near[0].replace("\\", r"\\"), text)
    if text == question.text:
        return None
    # The vector of a mistyped word says nothing, that of a sentence with one enough.
    return SearchText(query_words.read(text), b"" if question.identifier else search_text.vector)


def allowed(view: SnapshotView, docs: Sequence[int], filters: Filters, cancel: CancelToken) -> list[int]:
    """Return the chunks that filters let through, in their order: what is looked up by name or place was not searched for."""
    chosen = native_filter(filters)
    if chosen is None or not docs:
        return list(docs)
    infos = view.describe(docs)
    only = native.ParsedQuery("x", "x", scores=[(info.id, 1.0) for info in infos])  # a search in which nothing else can be found
    [(candidates, _)] = view.find([only], pool=len(docs), floor=0.5, filter=chosen, pinned=None, active_path=None, cancel=cancel)
    through = {candidate.doc for candidate in candidates}
    return [doc for doc in docs if doc in through]


def pool_size(limit: int) -> int:
    """Return how many candidates each search gives for so many hits."""
    return min(max(CANDIDATES_A_HIT * limit, MINIMUM_POOL), max(MAXIMUM_POOL, limit))


def literal_glob(path: str) -> str:
    """Return a glob that matches this path only."""
    literal = "".join(f"[{c}]" if c in "*?[]{},\\" else c for c in path)
    # A pattern without a slash is a name that may be anywhere.
    return literal if "/" in path else f"{{{literal},{literal}/}}"


def native_filter(filters: Filters, *, now: Callable[[], float] = time.time) -> Filter | None:
    """Return the filter that the index applies while it searches; None when everything may answer."""
    if filters == Filters(min_score=filters.min_score):
        return None
    age = filters.max_age_days
    return Filter(
        path_globs=filters.path_globs,
        exclude_globs=filters.exclude,
        languages=filters.languages,
        symbol=filters.symbol,
        sources=filters.sources,
        updated_after=None if age is None else int(now() - age * SECONDS_A_DAY),
        metadata={name: [value] if isinstance(value, str) else value for name, value in filters.metadata.items()},
    )
