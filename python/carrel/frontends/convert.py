"""Between core values and the wire: hits, packs, filters, budgets, positions.

Positions are UTF-16 on the wire: the server chooses that encoding, which every LSP client must support, and the core
counts in it as well, so nothing is ever converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import UNSET

from carrel.core.errors import InvalidInput
from carrel.core.types import CHUNK_FIELDS, Budget, ContextPack, Filters, Hit, Signals, Span
from carrel.frontends import messages as wire

if TYPE_CHECKING:
    from carrel.engine.compare import Way

UriOf = Callable[[str], str]
"""Relative path to URI, in the editor's spelling."""
_NAMES = {
    "path_globs": "filters.pathGlob",
    "exclude_globs": "exclude",
    "languages": "filters.languages",
    "metadata": "filters.metadata",
}


def to_range(span: Span) -> wire.Range:
    """1-based inclusive lines to LSP's half-open range."""
    return wire.Range(
        start=wire.Position(line=span.start_line - 1, character=span.start_character),
        end=wire.Position(line=span.end_line - 1, character=span.end_character),
    )


def to_filters(param: wire.FiltersParam, exclude: tuple[str, ...] = ()) -> Filters:
    """Filters as sent to the core's; raises `InvalidInput` for a pattern, a language or a field that is none."""
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
    return checked(filters, _NAMES)


def checked(filters: Filters, names: Mapping[str, str]) -> Filters:
    """The filters, if the core can use them; else `InvalidInput` with the field's name on the wire, which `names` gives."""
    if not (filters.path_globs or filters.exclude or filters.languages or filters.metadata):
        return filters
    from carrel.engine.candidates import native_filter  # noqa: PLC0415 - a server starts without the core

    # Files of a workspace have no metadata of their own: another field is a mistake.
    if unknown := [name for name in filters.metadata if name not in CHUNK_FIELDS]:
        told = f'"{unknown[0]}" is not recorded of a chunk; use {", ".join(CHUNK_FIELDS)}'
        raise InvalidInput(names.get("metadata", "metadata"), told)
    try:
        native_filter(filters)
    except InvalidInput as error:
        told = str(error).removeprefix(f"{error.field}: ")
        if error.field == "languages":
            told += _language_meant(filters.languages)
        raise InvalidInput(names.get(error.field, error.field), told) from None
    return filters


def _language_meant(typed: Iterable[str]) -> str:
    """The language that a name which is none may stand for: of files that end so, or of a name like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for what was typed wrongly

    from carrel.core.native import detect_language, languages  # noqa: PLC0415 - a server starts without the core

    known = languages()
    wrong = next((name.lower() for name in typed if name.lower() not in known), "")
    by_extension = detect_language(f"x.{wrong}")
    near = [by_extension] if by_extension else get_close_matches(wrong, known, 1)
    return f". Did you mean {near[0]}?" if near else ""


def to_budget(param: wire.BudgetParam | None, default: Budget) -> Budget:
    """The budget that was asked for, or the default."""
    if param is None or (param.tokens is None and param.chars is None):
        return default
    if param.tokens is not None and param.chars is not None:
        raise InvalidInput("budget", "give either tokens or chars, not both")
    if param.tokens is not None:
        return Budget(param.tokens, "tokens")
    return Budget(param.chars or default.amount, "chars")


def from_way(way: Way) -> wire.WayResult:
    """One side of a comparison."""
    return wire.WayResult(tokens=way.tokens, elapsed_ms=way.milliseconds, files=way.files)


def from_hit(hit: Hit, uri_of: UriOf, *, masked: int | None = None) -> wire.HitResult:
    """A hit as editors see it; `masked` where only a part of it is shown."""
    chunk = hit.chunk
    return wire.HitResult(
        id=chunk.id,
        uri=uri_of(chunk.path),
        path=chunk.path,
        start_line=chunk.span.start_line,
        end_line=chunk.span.end_line,
        range=to_range(chunk.span),
        symbol=chunk.symbol or UNSET,
        kind=chunk.kind,
        language=chunk.language,
        score=round(hit.score, 4),
        signals=from_signals(hit.signals),
        text=chunk.text,
        definitions=chunk.definitions,
        imports=chunk.imports,
        container=chunk.container or UNSET,
        content_hash=chunk.content_hash,
        updated_at=from_time(chunk.updated_at),
        source=chunk.source,
        masked=chunk.masked if masked is None else masked,
    )


def from_signals(signals: Signals) -> wire.SignalsResult:
    """What each stage said, without those that said nothing."""
    return wire.SignalsResult(
        dense=UNSET if signals.dense is None else signals.dense,
        dense_rank=signals.dense_rank or UNSET,
        lexical=UNSET if signals.lexical is None else signals.lexical,
        lexical_rank=signals.lexical_rank or UNSET,
        fused=signals.fused,
        rerank=UNSET if signals.rerank is None else signals.rerank,
        matched=signals.matched,
        boosts=tuple(wire.Boost(rule=rule, factor=factor) for rule, factor in signals.boosts),
    )


def from_pack(
    pack: ContextPack,
    uri_of: UriOf,
    *,
    state: wire.State,
    pending: int,
    error: str | None,
    elapsed_ms: float,
    stages: Mapping[str, float],
) -> wire.ContextResult:
    """A pack as editors see it."""
    in_tokens = pack.budget.unit == "tokens"
    return wire.ContextResult(
        id=pack.id,
        text=pack.text,
        format=pack.format,
        tokens=pack.tokens,
        budget_tokens=pack.budget.amount if in_tokens else UNSET,
        budget_chars=UNSET if in_tokens else pack.budget.amount,
        tokenizer=pack.tokenizer,
        hits=tuple(from_hit(item.hit, uri_of, masked=item.masked) for item in pack.items),
        dropped=tuple(
            wire.DroppedResult(path=drop.path, start_line=drop.start_line, end_line=drop.end_line, reason=drop.reason)
            for drop in pack.dropped
        ),
        query=pack.query,
        state=state,
        pending=pending,
        error=error or UNSET,
        elapsed_ms=elapsed_ms,
        stages=dict(stages),
    )


def from_time(unix_seconds: float) -> str:
    """Unix seconds to ISO 8601 in UTC."""
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
