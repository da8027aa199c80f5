"""The windows of the upstream's models, as its list of models tells them. Asked beside the questions: none waits for it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Any

import httpx

from carrel.frontends.common.http_guard import Headers

log = logging.getLogger(__name__)

_FIELDS = ("context_length", "max_model_len", "context_window", "max_context_length")
"""OpenRouter, LiteLLM; vLLM; Groq; LM Studio."""
_AGAIN_SECONDS = 600.0
_TIMEOUT_SECONDS = 10.0
_LARGEST = 16 << 20
_KEYS = (b"authorization", b"api-key", b"x-api-key")


class UpstreamModels:
    """What `GET /v1/models` says of windows, asked with the key of the question that wants it, and again after ten minutes."""

    def __init__(self, client: httpx.AsyncClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._windows: dict[str, int] = {}
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    def window(self, model: str) -> int | None:
        """Return a model's window, as far as the upstream told it until now."""
        return self._windows.get(model)

    def want(self, url: httpx.URL, headers: Headers) -> None:
        """Ask for the list in the background, unless that was done lately."""
        if self._clock() - self._asked_at < _AGAIN_SECONDS:
            return
        self._asked_at = self._clock()
        kept = [(key, value) for key, value in headers if key in _KEYS]
        self._asking = asyncio.get_running_loop().create_task(self._ask(url, kept))

    async def close(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _ask(self, url: httpx.URL, headers: Headers) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                asked = [*headers, (b"accept-encoding", b"identity"), (b"user-agent", b"carrel")]
                async with self._client.stream("GET", url, headers=asked, follow_redirects=False) as response:
                    body = bytearray()
                    async for piece in response.aiter_raw():
                        body += piece
                        if len(body) > _LARGEST:
                            return
            if response.is_success:
                self._windows = windows_in(json.loads(bytes(body)))
        except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
            log.debug("The upstream's list of models can't be read: %s", type(error).__name__)


def windows_in(listed: Any) -> dict[str, int]:
    """Return the windows that a list of models names, by the models' ids."""
    found: dict[str, int] = {}
    entries = listed.get("data") if isinstance(listed, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(name := entry.get("id"), str):
            sizes = (entry.get(field) for field in _FIELDS)
            window = next((size for size in sizes if type(size) is int and size > 0), None)
            if window:
                found[name] = window
    return found
