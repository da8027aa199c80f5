"""The one HTTP client of all providers: permission, keys, limits, tries, and errors in words that quote nobody.

Follows no redirect, keeps connections, is cancelled with the task that asks. A 429 waits for `Retry-After`, else for 0.5, 1, 2
and 4 seconds, at most 30, and gives up after four more tries; any other failure is told at once, with `retryable`
where waiting helps. Bodies that services send with an error are never shown: they may quote a key or what was sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import httpx
import msgspec
from msgspec.structs import replace

from carrel.model.errors import NotAllowed, ProviderError, UnusableAnswer
from carrel.model.outbound import Destination, Load, Outbound, Sent, admitted, note
from carrel.providers.keys import VARIABLES
from carrel.providers.service import Service, is_compressed, refused, unreachable

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)
Sleep = Callable[[float], Awaitable[None]]

PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further try of a request that was refused for its rate, where the service names none."""
LONGEST_PAUSE = 30.0
MOST_BYTES = 64_000_000
"""The longest answer that is read; 256 vectors of 3,072 numbers take about 17 MB."""
MOST_LINE = 4_000_000
"""The longest line of a stream."""
LINES_A_TURN = 200
"""So many lines are handed on before others have their turn on the event loop."""
CONNECT_SECONDS = 10.0
KEPT_CONNECTIONS = 8

_ENTER_KEY = "Enter one with `carrel models key {}`{}."
NO_LOAD = Load()


class Auth(Protocol):
    """What proves to a service who asks."""

    async def headers(self) -> Mapping[str, str]:
        """Return the headers of a request. Raises `ProviderError` where there is no key."""

    def rejected(self) -> bool:
        """Hear that the last headers were refused, and tell whether others may be had."""


class KeyAuth:
    """A key that is found anew for each request: one that a person sets counts at once."""

    def __init__(
        self, outbound: Outbound, provider: str, place: str = "", *, required: bool = True, header: str = "Authorization"
    ) -> None:
        self._outbound = outbound
        self._provider = provider
        self._place = place
        self._required = required
        self._header = header

    async def headers(self) -> Mapping[str, str]:
        """Return the header with the key, or none where there is none and none is required."""
        if self._place == "none":
            return {}
        key = await asyncio.to_thread(self._outbound.keys.find, self._provider, self._place)
        if key is None:
            if self._required:
                variable = self._place.removeprefix("env:") if self._place.startswith("env:") else VARIABLES.get(self._provider)
                also = f" or set `{variable}`" if variable else ""
                raise ProviderError(f"There is no key for {self._provider}", _ENTER_KEY.format(self._provider, also))
            return {}
        value = key.reveal()
        return {self._header: f"Bearer {value}" if self._header == "Authorization" else value}

    def rejected(self) -> bool:
        """Tell that there is no other key."""
        return False


def key_for(outbound: Outbound, service: Service, place: str, *, is_home: bool, header: str = "Authorization") -> KeyAuth:
    """Return the key of a service. One whose place nobody named is sent to its own provider only, never to another host.

    `is_home` says that the service is asked at its own address. Another one that speaks its API may need no key.
    """
    place = place or ("" if is_home else "none")
    return KeyAuth(outbound, service.provider, place, required=place != "none", header=header)


class ServiceClient:
    """Asks one service. Used from any event loop: each has connections of its own."""

    def __init__(
        self,
        service: Service,
        outbound: Outbound,
        auth: Auth,
        *,
        seconds_between: float = 0.0,
        sleep: Sleep = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Take how far apart requests are sent, tries among them."""
        self.service = service
        self._seconds_between, self._sent_at = seconds_between, float("-inf")
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()
        self._outbound = outbound
        self._auth = auth
        self._sleep = sleep
        self._transport = transport
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = weakref.WeakKeyDictionary()
        with suppress(RuntimeError):  # made without an event loop
            self._client()  # takes 0.1 s and more the first time, which is not to count as the service's

    async def post(self, path: str, body: Mapping[str, Any], load: Load = NO_LOAD) -> Any:
        """Send JSON and return the answer's JSON. Raises `ProviderError`, `NotAllowed` among them."""
        return await self.send("POST", path, body, load)

    async def send(
        self, method: str, path: str, body: Mapping[str, Any] | None, load: Load = NO_LOAD, *, most_bytes: int | None = None
    ) -> Any:
        """Send a request and return the answer's JSON, of at most so many bytes. Raises `ProviderError`."""
        async with self._opened(method, path, body, load) as response:
            return _json(await _read(response, self.service, most_bytes or MOST_BYTES), self.service)

    @asynccontextmanager
    async def lines(self, path: str, body: Mapping[str, Any], load: Load = NO_LOAD) -> AsyncIterator[AsyncIterator[str]]:
        """Send JSON and give the answer line by line, without line ends. Raises `ProviderError`, also between lines."""
        async with self._opened("POST", path, body, load) as response:
            yield _lines(response, self.service)

    def used(self, load: Load) -> None:
        """Count what an answer says that it took, where that was not known before."""
        more = replace(load, requests=0)
        note(Sent(self.service.destination, self.service.role, more))
        self._outbound.meter.record(self.service.destination, more)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _opened(self, method: str, path: str, body: Any, load: Load) -> AsyncIterator[httpx.Response]:
        """Give the response of a request that was taken, its body still to be read. Its failures are remembered."""
        try:
            async with self._taken(method, path, body, load) as response:
                yield response
        except NotAllowed:
            raise
        except ProviderError as error:
            self._outbound.meter.failed(self.service.destination, str(error))
            raise

    @asynccontextmanager
    async def _taken(self, method: str, path: str, body: Any, load: Load) -> AsyncIterator[httpx.Response]:
        destination = self.service.destination
        self._outbound.permissions.check(destination)
        content = None if body is None else _encoded(body)
        tries = 0
        while True:
            # Before its turn: a session may have to be exchanged, and pace counts when it is sent.
            headers = await self._headers()
            headers |= {"Content-Type": "application/json"} if content is not None else {}
            admission = await admitted(self._outbound.meter, destination, load)
            try:
                self._outbound.permissions.check(destination)  # it may have been withdrawn while the request waited
                await self._keep_pace()
                note(Sent(destination, self.service.role, load if tries == 0 else NO_LOAD, len(content or b"")))
                response = await self._send(method, path, content, headers)
                if response.is_success:
                    try:
                        admission.taken()
                        yield response
                        return
                    finally:
                        await response.aclose()
            finally:
                admission.ended()
            try:
                error = await refused(response, self.service)
            finally:
                await response.aclose()
            status = response.status_code
            again = status == 429 or (status == 401 and self._auth.rejected())
            if tries >= len(PAUSES) or not again:
                raise error
            if status == 429:
                await self._sleep(min(error.retry_after if error.retry_after is not None else PAUSES[tries], LONGEST_PAUSE))
            tries += 1

    async def _headers(self) -> dict[str, str]:
        """Return the headers that prove who asks. Raises `ProviderError` where anybody on the way could read them."""
        auth = await self._auth.headers()
        if auth and not self.service.encrypted:
            raise ProviderError(
                f"The key for {self.service.title} was not sent: {self.service.destination.host} is asked without encryption",
                'Set a baseUrl with https://, or `key` to "none" where the service needs none.',
            )
        return {**self.service.headers, **auth, "Accept-Encoding": "identity"}

    async def _keep_pace(self) -> None:
        """Wait until the last request was sent long enough ago."""
        if not self._seconds_between:
            return
        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if (pause := self._sent_at + self._seconds_between - time.monotonic()) > 0:
                await self._sleep(pause)
            self._sent_at = time.monotonic()

    async def _send(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> httpx.Response:
        try:
            client = self._client()
            request = client.build_request(method, self.service.base_url.rstrip("/") + path, content=content, headers=headers)
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError, ValueError) as error:
            raise unreachable(error, self.service) from None

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            for name in ("httpx", "httpcore"):  # at a lower level they tell addresses, which may hold a key
                logging.getLogger(name).setLevel(max(logging.getLogger(name).level, logging.WARNING))
            client = self._clients[loop] = httpx.AsyncClient(
                timeout=httpx.Timeout(self.service.idle_seconds, connect=CONNECT_SECONDS),
                limits=httpx.Limits(max_connections=32, max_keepalive_connections=KEPT_CONNECTIONS),
                follow_redirects=False,
                proxy=(self._outbound.proxy or None) if self.service.leaves_machine else None,
                trust_env=self.service.leaves_machine,  # nobody's proxy stands between two programs of one machine
                transport=self._transport,
                verify=_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            )
        return client


class ServiceModel:
    """A model that one service is asked for."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return where text is sent."""
        return (self._client.service.destination,)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()


@lru_cache(maxsize=4)
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:  # noqa: ARG001 - httpx reads these two
    """Return whom is trusted, read once: it takes 20 ms, and a person may have 50 sources on one server."""
    return httpx.create_ssl_context()


async def _pieces(response: httpx.Response, service: Service) -> AsyncIterator[bytes]:
    """Give the body as it comes. A compressed one is refused: none was asked for, and a few bytes of one may be gigabytes."""
    if is_compressed(response):
        raise ProviderError(f"{service.title} sent a compressed answer, which was not asked for", "Check `baseUrl`.")
    async for piece in response.aiter_bytes():
        yield piece


async def _read(response: httpx.Response, service: Service, most_bytes: int) -> bytes:
    gathered = bytearray()
    try:
        async for piece in _pieces(response, service):
            gathered += piece
            if len(gathered) > most_bytes:
                raise ProviderError(f"{service.title} sent more than {most_bytes // 1_000_000} MB in one answer.")
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise unreachable(error, service) from None
    return bytes(gathered)


async def _lines(response: httpx.Response, service: Service) -> AsyncIterator[str]:
    """Give lines, however their bytes came. Line ends are LF or CR LF only: text may hold Unicode's other separators."""
    rest, lines = bytearray(), 0
    try:
        async for piece in _pieces(response, service):
            await asyncio.sleep(0)
            start = len(rest)
            rest += piece
            while (end := rest.find(b"\n", start)) >= 0:
                lines += 1
                if lines % LINES_A_TURN == 0:
                    await asyncio.sleep(0)  # many lines may be in one piece: others shall have their turn
                yield bytes(rest[:end]).removesuffix(b"\r").decode("utf-8", "replace")
                del rest[: end + 1]
                start = 0
            if len(rest) > MOST_LINE:
                raise ProviderError(f"{service.title} sent a line of more than {MOST_LINE // 1_000_000} MB.")
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise unreachable(error, service) from None
    if rest:
        yield bytes(rest).decode("utf-8", "replace")


def _encoded(body: Any) -> bytes:
    """Return a body as it is sent. Half a character, as broken files hold it, becomes a question mark."""
    try:
        return msgspec.json.encode(body)  # of vectors `json` takes six times as long
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _json(body: bytes, service: Service) -> Any:
    try:
        return msgspec.json.decode(body)  # of megabytes of numbers `json` takes four times as long, on the loop
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise UnusableAnswer(f"{service.title} answered with something that is not JSON", "Check `baseUrl`.") from None
