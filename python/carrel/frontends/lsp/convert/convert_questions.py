"""Between core values and the wire: hits, packs, filters, budgets, positions, errors, and what was sent where.

Positions are UTF-16 on the wire: the server chooses that encoding, which every LSP client must support, and the core
counts in it as well, so nothing is ever converted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET, UnsetType, structs

from carrel.frontends.common import wire as common
from carrel.frontends.common.filters import checked_filters
from carrel.frontends.lsp.messages import question_messages as wire
from carrel.frontends.lsp.messages.question_messages import AttemptResult, SentResult
from carrel.model.bounds import MOST_LINES
from carrel.model.conversation import Message, Role
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.outbound import Receipt, collect, summed
from carrel.model.types import Budget, Dropped, Filters, Hit, Signals, Span

if TYPE_CHECKING:
    from carrel.assist.assessment import Attempt
    from carrel.assist.routing import Route
    from carrel.git.git import LastChange
    from carrel.search.explain import Explanation
    from carrel.search.retriever import Retrieval
    from carrel.service.context_request import ContextAnswer, MissingFolder, StoredContext

UriOf = Callable[[str], str]
"""Relative path to URI, in the editor's spelling."""
FolderOf = Callable[[str], str | UnsetType]
"""Name of a folder, in an answer of several, to its URI."""
_SPEAKERS: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_NAMES = {
    "path_globs": "filters.pathGlob",
    "exclude_globs": "exclude",
    "languages": "filters.languages",
    "metadata": "filters.metadata",
}


def to_range(span: Span) -> wire.Range:
    """Encode 1-based inclusive lines as LSP's half-open range."""
    return wire.Range(
        start=wire.Position(line=span.start_line - 1, character=span.start_character),
        end=wire.Position(line=span.end_line - 1, character=span.end_character),
    )


def to_lines(selection: wire.Range) -> tuple[int, int] | None:
    """Decode what is selected as 1-based inclusive lines; None where nothing is."""
    start, end = selection.start, selection.end
    if (start.line, start.character) >= (end.line, end.character):
        return None
    # Who selects whole lines ends at the beginning of the next one.
    last = end.line - 1 if end.character == 0 else end.line
    return line_of(start.line), line_of(max(last, start.line))


def line_of(line: int) -> int:
    """Return the 1-based line for one of an editor, which may stand far behind the end of the file."""
    return min(line + 1, MOST_LINES)


def to_filters(param: wire.FiltersParam, exclude: tuple[str, ...] = ()) -> Filters:
    """Decode filters; raises `InvalidInput` for a pattern, a language or a field that can't be used."""
    globs = (param.path_glob,) if isinstance(param.path_glob, str) else param.path_glob
    filters = Filters(
        sources=param.sources,
        path_globs=tuple(glob for glob in globs if glob),
        exclude=exclude,
        languages=param.languages,
        symbol=param.symbol,
        min_score=param.min_score,
        max_age_days=param.max_age_days,
        metadata=param.metadata,
    )
    return checked_filters(filters, _NAMES)


def to_history(turns: Sequence[wire.HistoryTurn]) -> tuple[Message, ...]:
    """Decode what was said before; turns of other roles than the two who speak are left out."""
    return tuple(Message(_SPEAKERS[turn.role], turn.content) for turn in turns if turn.role in _SPEAKERS)


def to_budget(param: wire.BudgetParam | None, default: Budget) -> Budget:
    """Decode the budget that was asked for, or the default."""
    if param is None or (param.tokens is None and param.chars is None):
        return default
    if param.tokens is not None and param.chars is not None:
        raise InvalidInput("budget", "gives both tokens and chars", "Give one of the two.")
    if param.tokens is not None:
        return Budget(param.tokens, "tokens")
    return Budget(param.chars or default.amount, "chars")


def from_hit(hit: Hit, uri_of: UriOf, *, masked: int | None = None, folder_of: FolderOf = lambda _: UNSET) -> wire.HitResult:
    """Encode a hit; `masked` where only a part of it is shown."""
    chunk = hit.chunk
    return common.encode(
        wire.HitResult,
        chunk,
        uri=chunk.origin.uri if chunk.origin and chunk.origin.uri else uri_of(chunk.path),
        folder=folder_of(chunk.folder),
        start_line=chunk.span.start_line,
        end_line=chunk.span.end_line,
        range=to_range(chunk.span),
        score=round(hit.score, 4),
        signals=from_signals(hit.signals),
        updated_at=common.iso_time(chunk.updated_at),
        source_id=chunk.origin.source if chunk.origin and chunk.origin.uri else UNSET,
        not_local=bool(chunk.origin and not chunk.origin.local),
        version=chunk.origin.version if chunk.origin else None,
        masked=chunk.masked if masked is None else masked,
        attached=hit.attached,
    )


def with_last_changes(hits: Sequence[wire.HitResult], changes: Mapping[str, LastChange]) -> tuple[wire.HitResult, ...]:
    """Add to each hit the commit that changed it last, where it is known."""

    def encoded(change: LastChange) -> common.LastChangeResult:
        return common.encode(common.LastChangeResult, change, at=common.iso_time(change.at))

    return tuple(structs.replace(hit, last_change=encoded(changes[hit.id])) if hit.id in changes else hit for hit in hits)


def from_missing(missing: Sequence[MissingFolder]) -> tuple[wire.MissingFolderResult, ...] | UnsetType:
    """Encode the folders that were not searched; unset where all were."""
    return (
        tuple(wire.MissingFolderResult(folder=folder.uri, name=folder.name, reason=str(folder.cause)) for folder in missing)
        or UNSET
    )


def from_attempt(attempt: Attempt) -> AttemptResult:
    """Encode a search that a chat model assessed."""
    return common.encode(AttemptResult, attempt.assessment, query=attempt.query, hits=len(attempt.hits), problem=attempt.problem)


def from_routes(routes: Sequence[Route]) -> tuple[common.RouteResult, ...]:
    """Encode where a question went."""
    return tuple(common.encode(common.RouteResult, route) for route in routes)


def from_diagnostics(retrieval: Retrieval) -> dict[str, Any]:
    """Return what was done to answer, as `SearchResult.plan` holds it."""
    done = retrieval.diagnostics
    return {
        "words": done.words,
        "names": done.names,
        "symbolQuery": done.is_symbol,
        "issue": done.is_issue,
        "candidates": structs.asdict(done.candidates),
        "embedder": done.embedder,
        "stages": retrieval.stages,
        **({"problem": done.problem} if done.problem else {}),
        **({"imagined": True} if done.imagined else {}),
        **({"reranker": done.reranker} if done.reranker else {}),
        **({"holding": done.holding} if done.holding is not None else {}),
    }


def from_kept(kept: StoredContext) -> dict[str, Any]:
    """Return a pack's story: what is in it, what was left out, and every candidate in the final order."""
    pack = kept.answer.pack
    items = [(item.hit.chunk.path, item.hit.chunk.span, item.elided) for item in pack.items]
    return {
        "packId": pack.id,
        "query": pack.query,
        "tokens": pack.tokens,
        "items": [
            {"path": path, "startLine": span.start_line, "endLine": span.end_line, "elided": elided}
            for path, span, elided in items
        ],
        "dropped": [from_dropped(drop) for drop in pack.dropped],
        "stages": kept.answer.stages,
        "candidates": [from_explanation(item) for item in kept.candidates()],
    }


def from_receipt(receipt: Receipt) -> tuple[SentResult, ...] | UnsetType:
    """Encode what was sent where; unset where nothing was."""
    rows = tuple(
        SentResult(
            provider=sent.destination.provider,
            host=sent.destination.host,
            what=sent.role,
            requests=sent.load.requests,
            texts=sent.load.texts,
            bytes=sent.bytes,
            tokens=sent.load.tokens,
            cost=round(sent.load.dollars, 8),
        )
        for sent in summed(receipt)
    )
    return rows or UNSET


def from_explanation(item: Explanation) -> dict[str, Any]:
    """Return why a chunk was or wasn't given, without the stages that didn't see it."""
    return {common.camel_case(key): value for key, value in structs.asdict(item).items() if value is not None}


def from_dropped(drop: Dropped) -> common.DroppedResult:
    """Return what was left out as editors see it."""
    return common.encode(common.DroppedResult, drop)


def from_signals(signals: Signals) -> wire.SignalsResult:
    """Encode what each stage said, without those that said nothing."""
    return common.encode(
        wire.SignalsResult,
        signals,
        dense_rank=signals.dense_rank or None,
        lexical_rank=signals.lexical_rank or None,
        boosts=tuple(common.Boost(rule=rule, factor=factor) for rule, factor in signals.boosts),
        contributions=tuple(common.Contribution(rule=rule, share=share) for rule, share in signals.contributions),
    )


def from_answer(answer: ContextAnswer, uri_of: UriOf, folder_of: FolderOf, elapsed_ms: float) -> wire.ContextResult:
    """Encode a pack and what is known of it."""
    pack = answer.pack
    in_tokens = pack.budget.unit == "tokens"
    return common.encode(
        wire.ContextResult,
        answer,
        id=pack.id,
        text=pack.text,
        format=pack.format,
        tokens=pack.tokens,
        budget_tokens=pack.budget.amount if in_tokens else UNSET,
        budget_chars=UNSET if in_tokens else pack.budget.amount,
        tokenizer=pack.tokenizer,
        hits=tuple(from_hit(item.hit, uri_of, masked=item.masked, folder_of=folder_of) for item in pack.items),
        dropped=tuple(map(from_dropped, pack.dropped)),
        query=pack.query,
        routes=from_routes(answer.routes),
        missing_folders=from_missing(answer.missing),
        error=answer.problem,
        elapsed_ms=elapsed_ms,
    )


C = TypeVar("C")
R = TypeVar("R", bound=common.Wire)
Handler = Callable[[C, Any], Coroutine[Any, Any, R]]


def with_receipt(handler: Handler[C, R]) -> Handler[C, R]:
    """Have the result of a handler say what was sent where."""

    @functools.wraps(handler)
    async def handle(commands: C, raw: Any) -> R:
        with collect() as receipt:
            result = await handler(commands, raw)
        return structs.replace(result, sent=from_receipt(receipt))

    return handle


E = TypeVar("E", bound=CarrelError)


def on_wire(error: E) -> E | InvalidInput:
    """Return the error under the field's name on the wire; what lies further in knows its own names only."""
    return error.renamed(common.camel_case(error.field)) if isinstance(error, InvalidInput) else error


def error_data(error: CarrelError) -> wire.ErrorData:
    """Return what programs may read of an error."""
    wrong = error if isinstance(error, InvalidInput) else None
    return wire.ErrorData(
        kind=type(error).__name__,
        reason=error.reason,
        remedy=error.remedy,
        retryable=error.retryable,
        field=wrong.field if wrong else UNSET,
        value=wrong.value if wrong and wrong.value is not None else UNSET,
    )
