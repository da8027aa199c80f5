"""Why a chunk was or wasn't picked: where it stood in every stage."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, Candidate, ChunkInfo
from carrel.model.types import ContextItem, Span
from carrel.question.prepare import PreparedQuery, SearchText
from carrel.search.order import Place
from carrel.search.ranking import score, signals
from carrel.search.retriever import Retrieval, placed, retrieve

NOT_IN_THE_PACK = "left out of the pack: other lines say more for their size"


class Explanation(Struct, frozen=True):
    """One chunk's way through the stages. Ranks are 1-based; None where a stage didn't see it."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    rank: int | None
    relevance: float | None
    dense: float | None
    dense_rank: int | None
    lexical: float | None
    lexical_rank: int | None
    defines: float
    fused: float
    score: float
    matched: tuple[str, ...]
    boosts: tuple[tuple[str, float], ...]
    verdict: str
    rerank: float | None = None
    contributions: tuple[tuple[str, float], ...] = ()
    """Rules with their signed shares of the relevance."""


def explain_line(
    view: SnapshotView, prepared: PreparedQuery, path: str, line: int, cancel: CancelToken, *, refusal: str | None = None
) -> list[Explanation]:
    """Say why the chunk(s) at `path:line` were or weren't found for a query; one entry says so where there is none.

    `refusal` is the reason why the file may not be read, if there is one.
    """
    if refusal:
        return [_nothing(path, line, f"the file is not in the index: {refusal}")]
    chunks = view.file_chunks(path)
    here = [info for info in chunks if info.start_line <= line <= info.end_line]
    if not here:
        reason = _not_held(line, max((info.end_line for info in chunks), default=0))
        return [_nothing(path, line, reason)]
    result = retrieve(view, prepared, cancel)
    return [_explain(view, prepared, info, result) for info in here]


def explain_ranked(result: Retrieval, items: Sequence[ContextItem] = (), *, packed: bool = False) -> list[Explanation]:
    """Explain every candidate of a retrieval, in the final order.

    With the `items` of a pack, or where it was `packed` with other things alone, given is what the pack shows.
    """
    explanations = [_placed(place, number, result) for number, place in enumerate(result.order.places, 1)]
    if not items and not packed:
        return explanations
    chunks = [item.hit.chunk for item in items]

    def verdict(explanation: Explanation) -> str:
        span = Span(explanation.start_line, explanation.end_line)
        if any(chunk.path == explanation.path and chunk.span.overlaps(span) for chunk in chunks):
            return f"given, as number {explanation.rank}"
        return NOT_IN_THE_PACK if explanation.verdict.startswith("given") else explanation.verdict

    return [replace(explanation, verdict=verdict(explanation)) for explanation in explanations]


def _not_held(line: int, last: int) -> str:
    if not last:
        return "the file is not in the index yet"
    if line > last:
        return f"no chunk holds this line: the last one of the file ends in line {last}"
    return "no chunk holds this line: it is blank or too small to be one"


def _explain(view: SnapshotView, prepared: PreparedQuery, info: ChunkInfo, result: Retrieval) -> Explanation:
    for number, place in enumerate(result.order.places, 1):
        if place.candidate.doc == info.doc:
            return _placed(place, number, result)
    # Not a candidate: what would each search have said?
    question = result.context.question
    text = next((text for text in prepared.texts.values() if text.question == question), SearchText(question))
    [alone] = score(view.evidence(text.parsed(quotes=False), [info.doc]), result.context, result.editor)
    pool = len(result.order.places)
    if not alone.lexical and alone.dense < prepared.model.floor:
        verdict = "not a candidate: it shares no word with the question, and its meaning is below the model's floor"
    else:
        verdict = f"not a candidate: {pool} chunks were better in every search"
    [place] = placed([alone], result.context, prepared.model.floor)
    return _of(place, None, verdict)


def _placed(place: Place, number: int, result: Retrieval) -> Explanation:
    explained = _of(place, number, _verdict(place.candidate, number, result))
    return replace(explained, rerank=result.order.reranked.get(place.candidate.doc))


def _verdict(ranked: Candidate, place: int, result: Retrieval) -> str:
    if ranked.doc in result.hit_docs:
        return f"given, as number {place}"
    for drop in result.dropped:
        if (drop.path, drop.start_line) == (ranked.path, ranked.start_line):
            return f"left out: {drop.reason}"
    return f"a candidate, but number {place}: the best {len(result.hits)} were asked for"


def _of(place: Place, number: int | None, verdict: str) -> Explanation:
    ranked, seen = place.candidate, signals(place)
    return Explanation(
        path=ranked.path,
        start_line=ranked.start_line,
        end_line=ranked.end_line,
        symbol=ranked.symbol,
        rank=number,
        relevance=place.relevance,
        dense=ranked.dense,
        dense_rank=ranked.dense_rank,
        lexical=ranked.lexical,
        lexical_rank=ranked.lexical_rank,
        defines=ranked.defines,
        fused=round(ranked.fused, 6),
        score=round(place.score, 6),
        matched=seen.matched,
        boosts=seen.boosts,
        verdict=verdict,
        contributions=seen.contributions,
    )


def _nothing(path: str, line: int, verdict: str) -> Explanation:
    return Explanation(path, line, line, "", None, None, None, None, None, None, 0.0, 0.0, 0.0, (), (), verdict)
