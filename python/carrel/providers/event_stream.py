"""Server-sent events whose data is JSON, as services of OpenAI's form send them, and the faults that they send within."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from carrel.model.errors import ProviderError
from carrel.model.plain_data import read_json
from carrel.providers.http import MOST_BYTES
from carrel.providers.service import Service, error_code, refusal

DONE = "[DONE]"
_MOST_PARTS = 100
"""Lines of one event's data. Nearly every service sends one."""
_TRANSIENT = ("server_error", "internal_error", "internal_server_error", "overloaded_error", "rate_limit_exceeded", "timeout")


async def events(lines: AsyncIterator[str], service: Service) -> AsyncIterator[dict[str, Any] | None]:
    """Give each event's data, None for the announced end, after which nothing is read.

    A service that doesn't stream, though it was asked to, gives its whole answer as one piece. Raises `ProviderError` for a fault
    that the service reports, and for what is no event.
    """
    data: list[str] = []
    kind, read = "", 0
    async for line in lines:
        read += len(line) + 1  # an empty one counts too
        if read > MOST_BYTES:
            raise ProviderError(f"{service.title} sent more than {MOST_BYTES // 1_000_000} MB in one answer.")
        if line[:1] in ("{", "[", "<"):
            yield await _whole(line, lines, service)
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        if name == "error":  # of older llama.cpp servers
            raise fault_within(read_json(value), service)
        if name == "data":
            if value.strip() == DONE:
                yield None
                return
            data.append(value)
        # Some services leave out the empty line, so a first line is tried at once; what has several is whole at its end only.
        ended = bool(data) and not line
        piece = read_json("\n".join(data)) if ended or (name == "data" and len(data) == 1) else None
        if piece is None and (len(data) > _MOST_PARTS or ended):
            raise ProviderError(f"{service.title} sent an event that is not JSON", "Check `baseUrl`.")
        if piece is not None:
            yield _checked(piece, kind, service)
            data, kind = [], ""


async def _whole(first: str, lines: AsyncIterator[str], service: Service) -> dict[str, Any]:
    text, size = [first], len(first)
    async for line in lines:
        text.append(line)
        size += len(line) + 1
        if size > MOST_BYTES:
            raise ProviderError(f"{service.title} sent more than {MOST_BYTES // 1_000_000} MB in one answer.")
    piece = read_json("\n".join(text))
    if piece is None:
        raise ProviderError(f"{service.title} answered with something that is not JSON", "Check `baseUrl`.")
    return _checked(piece, "", service)


def _checked(piece: object, kind: str, service: Service) -> dict[str, Any]:
    if kind == "error" or (isinstance(piece, dict) and piece.get("error")):
        raise fault_within(piece, service)
    if not isinstance(piece, dict):
        raise ProviderError(f"{service.title} sent an event that is no answer", "Check `baseUrl`.")
    return piece


def fault_within(piece: object, service: Service) -> ProviderError:
    """Return the error that a service reports in the middle of its answer. Its words are not repeated: they may quote a key."""
    error = piece.get("error", piece) if isinstance(piece, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        fault = refusal(service, code, error_code({"type": error.get("type")} if isinstance(error, dict) else None))
        fault.retryable = fault.retryable or code == 429
        return fault
    word = error_code(error)
    said = f" ({word})" if word else ""
    return ProviderError(f"{service.title} failed in the middle of an answer{said}.", retryable=not word or word in _TRANSIENT)
