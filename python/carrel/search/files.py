"""Files rather than chunks: by the summed scores of their chunks, or by the best of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.errors import InvalidInput
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, Candidate, ChunkInfo
from carrel.model.types import Chunk, Hit, Query
from carrel.question.issue_text import WHOLE
from carrel.question.prepare import PreparedQuery
from carrel.question.query_words import ParsedQuery
from carrel.search.candidates import CANDIDATES_A_HIT, search
from carrel.search.certainty import confidence, is_enough, relevance
from carrel.search.localize import LocatedFile
from carrel.search.ranking import editor_context, rank
from carrel.search.retriever import Retrieval, to_chunk

_KEYS: dict[str, Callable[[ChunkInfo], str]] = {
    "filename": lambda info: info.path,
    "folder": lambda info: info.path.rpartition("/")[0],
    "language": lambda info: info.language,
    "symbol": lambda info: info.symbol,
    "container": lambda info: info.container,
}


def pool_query(query: Query, candidate_pool_size: int) -> Query:
    """Return the query that finds so many candidates: each search gives five for each hit."""
    return replace(query, limit=max(1, candidate_pool_size // CANDIDATES_A_HIT))


class Pool(Struct, frozen=True):
    """Candidates whose files are looked for, best first."""

    view: SnapshotView
    candidates: Sequence[Candidate]
    question: ParsedQuery
    floor: float

    @property
    def has_evidence(self) -> bool:
        """Tell whether any shares a word with the question, or is likely to answer it."""
        sure = is_enough(confidence(self.candidates, self.question, self.floor))
        return sure or any(candidate.matched for candidate in self.candidates)

    def best(self, n_files: int, file_key: str | Callable[[ChunkInfo], str] = "filename") -> list[tuple[str, float]]:
        """Return the `n_files` best files as (path, summed relevance), best first.

        `file_key` names what chunks are summed by: "filename" (the path), "folder", "language", "symbol", "container", or a
        function of the chunk.
        """
        key = file_key if callable(file_key) else _KEYS.get(file_key)
        if key is None:
            raise InvalidInput("file_key", f"no such key: use one of {', '.join(sorted(_KEYS))}, or a function")
        infos = self.view.describe([candidate.doc for candidate in self.candidates])
        relevances = [relevance(candidate, self.question, self.floor) for candidate in self.candidates]
        return group((key(info), score) for info, score in zip(infos, relevances, strict=True))[:n_files]


def pool(view: SnapshotView, prepared: PreparedQuery, size: int, cancel: CancelToken) -> Pool:
    """Return at most so many candidates for a query that `pool_query` widened."""
    text = prepared.texts.get(WHOLE) or prepared.texts[""]
    candidates, context = search(view, text, prepared.query, prepared.model.floor, cancel)
    ranked = rank(candidates, context, editor_context(prepared.query))[:size]
    return Pool(view, ranked, context.question, prepared.model.floor)


def file_chunks(view: SnapshotView, path: str, cancel: CancelToken) -> list[Chunk]:
    """Return the chunks of a file as they stand now; those that can't be given are left out."""
    current_texts = view.read_current([info.doc for info in view.file_chunks(path)], cancel)
    return [to_chunk(chunk) for chunk in current_texts if not isinstance(chunk, str)]


def group(scores: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Sum by key, best first, ties by name."""
    sums: dict[str, float] = defaultdict(float)
    for key, score in scores:
        sums[key] += score
    return sorted(((key, round(value, 4)) for key, value in sums.items()), key=lambda pair: (-pair[1], pair[0]))


def located_files(retrieval: Retrieval) -> tuple[LocatedFile, ...]:
    """Return the files of an answer, with reasons, in the order of their best hits."""
    if retrieval.files:
        return retrieval.files
    best: dict[str, Hit] = {}
    for hit in retrieval.hits:
        best.setdefault(hit.chunk.path, hit)
    return tuple(LocatedFile(path, _reasons(hit)) for path, hit in best.items())


def _reasons(hit: Hit) -> tuple[str, ...]:
    words = ", ".join(hit.signals.matched)
    return (f"holds {words}" if words else "close in meaning",)
