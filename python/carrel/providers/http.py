"""The one HTTP client of all providers: permission, keys, limits, tries, and errors in words that quote nobody.

Follows no redirect, keeps connections, is cancelled with the task that asks. A 429 waits for `Retry-After`, else for 0.5, 1, 2
and 4 seconds, at most 30, and gives up after four more tries (spec B1); any other failure is told at once, with `retryable`
where waiting helps. Bodies that services send with an error are never shown: they may quote a key or what was sent.
"""

# ruff: noqa: PLC0415 - httpx takes 0.1 s to import, and most processes ask no remote service
from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import msgspec

from carrel.core.errors import InvalidInput, NotAllowed, ProviderError
from carrel.core.outbound import Destination, Load, Outbound, Role, Sent, admitted, is_loopback, note
from carrel.providers.keys import VARIABLES

if TYPE_CHECKING:
    import ssl

    import httpx

log = logging.getLogger(__name__)
Sleep = Callable[[float], Awaitable[None]]
Refusal = tuple[str, str, bool]

PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further try of a request that was refused for its rate, where the service names none (spec B1)."""
LONGEST_PAUSE = 30.0
MOST_BYTES = 64_000_000
"""The longest answer that is read; 256 vectors of 3,072 numbers take about 17 MB."""
MOST_LINE = 4_000_000
"""The longest line of a stream."""
LINES_A_TURN = 200
"""So many lines are handed on before others have their turn on the event loop."""
CONNECT_SECONDS = 10.0
IDLE_SECONDS = 60.0
"""Between two pieces of an answer, where a service is known to need no longer. How long a whole request may take is the caller's
to say."""
KEPT_CONNECTIONS = 8

_KEY_HEADERS = ("authorization", "api-key", "x-api-key")
_CODE = re.compile(r"[a-z][a-z_]{2,39}")
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


def key_for(outbound: Outbound, service: Service, place: str, *, own: bool, header: str = "Authorization") -> KeyAuth:
    """Return the key of a service. One whose place nobody named is sent to its own provider only, never to another host.

    `own` says that the service is asked at its own address. Another one that speaks its API may need no key.
    """
    place = place or ("" if own else "none")
    return KeyAuth(outbound, service.provider, place, required=place != "none", header=header)


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's API. `title` is what a person calls it; `headers` go with every request.

    `refusals` say by status what the service means by it where that isn't the usual: reason, remedy, and whether waiting helps.
    """

    provider: str
    title: str
    base_url: str
    role: Role
    headers: Mapping[str, str] = field(default_factory=dict)
    idle_seconds: float = IDLE_SECONDS
    refusals: Mapping[int, Refusal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `InvalidInput` for a base URL that can't be used."""
        try:
            parts = urlsplit(self.base_url)
            port = parts.port
        except ValueError:
            raise InvalidInput("baseUrl", "is not a URL", value=self.base_url) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise InvalidInput("baseUrl", "must begin with https:// or http:// and name a host", value=self.base_url)
        if parts.username or parts.password:
            raise InvalidInput("baseUrl", "must hold no user name or password", "Keep the key in the keyring or the environment.")
        if parts.query or parts.fragment:
            raise InvalidInput("baseUrl", "must end with its path", value=self.base_url)

    @property
    def destination(self) -> Destination:
        """Return where it sends text."""
        parts = urlsplit(self.base_url)
        host = (parts.hostname or "").lower()
        host = f"[{host}]" if ":" in host else host
        # Without encryption the port is always part of it: who allowed a host for https didn't allow that.
        usual = 443 if parts.scheme == "https" else 80 if is_loopback(host) else None
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return Destination(self.provider, host if port == usual else f"{host}:{port}")

    @property
    def leaves_machine(self) -> bool:
        """Tell whether what is sent leaves this machine."""
        return not self.destination.local

    @property
    def encrypted(self) -> bool:
        """Tell whether nobody on the way can read along."""
        return self.base_url.startswith("https://") or is_loopback(self.destination.host)


class ServiceClient:
    """Asks one service. Used from any event loop: each has connections of its own."""

    def __init__(
        self,
        service: Service,
        outbound: Outbound,
        auth: Auth,
        *,
        sleep: Sleep = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.service = service
        self._outbound = outbound
        self._auth = auth
        self._sleep = sleep
        self._transport = transport
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = weakref.WeakKeyDictionary()

    async def post(self, path: str, body: Mapping[str, Any], load: Load = NO_LOAD) -> Any:
        """Send JSON and return the answer's JSON. Raises `ProviderError`, `NotAllowed` among them."""
        return await self.send("POST", path, body, load)

    async def put(self, path: str, body: Mapping[str, Any], load: Load = NO_LOAD) -> Any:
        """Put JSON and return the answer's JSON. Raises `ProviderError`."""
        return await self.send("PUT", path, body, load)

    async def get(self, path: str) -> Any:
        """Return the JSON at a path. Raises `ProviderError`."""
        return await self.send("GET", path, None)

    async def send(
        self, method: str, path: str, body: Mapping[str, Any] | None, load: Load = NO_LOAD, *, most_bytes: int | None = None
    ) -> Any:
        """Send a request and return the answer's JSON, of at most so many bytes. Raises `ProviderError`."""
        async with self._opened(method, path, body, load) as response:
            return _json(await _read(response, self.service, most_bytes or MOST_BYTES), self.service)

    async def content(
        self, method: str, path: str, body: Any, load: Load = NO_LOAD, *, most_bytes: int = MOST_BYTES
    ) -> tuple[str, bytes]:
        """Send a request, JSON in it unless `body` is None; return the answer's kind and bytes. Raises `ProviderError`."""
        async with self._opened(method, path, body, load) as response:
            return response.headers.get("content-type", ""), await _read(response, self.service, most_bytes)

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
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        tries = 0
        while True:
            admission = await admitted(self._outbound.meter, destination, load)
            try:
                self._outbound.permissions.check(destination)  # it may have been withdrawn while the request waited
                note(Sent(destination, self.service.role, load if tries == 0 else NO_LOAD, len(content or b"")))
                response = await self._send(method, path, content)
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
                error = await _refused(response, self.service)
            finally:
                await response.aclose()
            status = response.status_code
            again = status == 429 or (status == 401 and self._auth.rejected())
            if tries >= len(PAUSES) or not again:
                raise error
            if status == 429:
                await self._sleep(min(error.retry_after if error.retry_after is not None else PAUSES[tries], LONGEST_PAUSE))
            tries += 1

    async def _send(self, method: str, path: str, content: bytes | None) -> httpx.Response:
        import httpx

        auth = await self._auth.headers()
        if auth and not self.service.encrypted:
            raise ProviderError(
                f"The key for {self.service.title} was not sent: {self.service.destination.host} is asked without encryption",
                'Set a baseUrl with https://, or `key` to "none" where the service needs none.',
            )
        headers = {**self.service.headers, **auth, "Accept-Encoding": "identity"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            client = self._client()
            request = client.build_request(method, self.service.base_url.rstrip("/") + path, content=content, headers=headers)
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError, ValueError) as error:
            raise _unreachable(error, self.service) from None

    def _client(self) -> httpx.AsyncClient:
        import httpx

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


@lru_cache(maxsize=4)
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:  # noqa: ARG001 - httpx reads these two
    """Return whom is trusted, read once: it takes 20 ms, and a person may have 50 sources on one server."""
    import httpx

    return httpx.create_ssl_context()


async def _pieces(response: httpx.Response, service: Service) -> AsyncIterator[bytes]:
    """Give the body as it comes. A compressed one is refused: none was asked for, and a few bytes of one may be gigabytes."""
    if _compressed(response):
        raise ProviderError(f"{service.title} sent a compressed answer, which was not asked for", "Check `baseUrl`.")
    async for piece in response.aiter_bytes():
        yield piece


def _compressed(response: httpx.Response) -> bool:
    return response.headers.get("content-encoding", "").strip().lower() not in ("", "identity")


async def _read(response: httpx.Response, service: Service, most_bytes: int) -> bytes:
    import httpx

    gathered = bytearray()
    try:
        async for piece in _pieces(response, service):
            gathered += piece
            if len(gathered) > most_bytes:
                raise ProviderError(f"{service.title} sent more than {most_bytes // 1_000_000} MB in one answer.")
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise _unreachable(error, service) from None
    return bytes(gathered)


async def _lines(response: httpx.Response, service: Service) -> AsyncIterator[str]:
    """Give lines, however their bytes came. Line ends are LF or CR LF only: text may hold Unicode's other separators."""
    import httpx

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
        raise _unreachable(error, service) from None
    if rest:
        yield bytes(rest).decode("utf-8", "replace")


def _json(body: bytes, service: Service) -> Any:
    try:
        return msgspec.json.decode(body)  # of megabytes of numbers `json` takes four times as long, on the loop
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise ProviderError(f"{service.title} answered with something that is not JSON", "Check `baseUrl`.") from None


def _unreachable(error: Exception, service: Service) -> ProviderError:
    import httpx

    from carrel.core.tls import tls_problem

    host = service.destination.host
    who = service.title if host in service.title else f"{service.title} at {host}"
    if problem := tls_problem(error, who):
        return problem
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return ProviderError(
            f"{service.title} can't be reached at {host}", "Check the network, `httpProxy` and `baseUrl`.", retryable=True
        )
    if isinstance(error, httpx.TimeoutException):
        return ProviderError(f"{service.title} at {host} stopped answering for {service.idle_seconds:g} s.", retryable=True)
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError):
        return ProviderError(f"{service.title} at {host} cut the connection in the middle of an answer.", retryable=True)
    if isinstance(error, httpx.ProxyError):
        return ProviderError(f"The HTTP proxy on the way to {host} refused the connection", "Check `httpProxy`.", retryable=True)
    return ProviderError(f"{service.title} can't be asked: {type(error).__name__}", "Check `baseUrl` and the key.")


_REFUSALS: Mapping[int, Refusal] = {
    401: ("{0} refused the key ({1})", "Enter another with `carrel models key {2}`.", False),
    402: ("{0} wants to be paid first ({1})", "Look at your account there.", False),
    403: ("{0} doesn't allow this with your key ({1})", "Enter another with `carrel models key {2}`.", False),
    404: ("{0} knows no such model or path ({1})", "Check `model` and `baseUrl`.", False),
    405: ("{0} knows no such model or path ({1})", "Check `model` and `baseUrl`.", False),
    408: ("{0} gave the request up ({1})", "", True),
    413: ("{0} found the request too long ({1})", "Lower `maxTexts` or `maxTokens` of the model.", False),
    425: ("{0} gave the request up ({1})", "", True),
    429: (
        "{0} allows no more requests for now ({1})",
        "Wait, or set `requestsPerMinute` or `tokensPerMinute` of `limits` to what your account allows.",
        False,  # it was tried again as often as is worth it
    ),
}
_REDIRECTED = ("{0} wants the request sent elsewhere ({1}), which Carrel doesn't do", "Check `baseUrl`.", False)
_FAILED = ("{0} failed ({1})", "", True)
_UNKNOWN = ("{0} refused the request ({1})", "Check `model` and its settings.", False)
_TOO_LONG = ("{0} has a smaller window than the request needs ({1})", "Set `window` of the model to what the service has.", False)
_WINDOW_CODES = ("context_length_exceeded", "exceed_context_size_error")


async def _refused(response: httpx.Response, service: Service) -> ProviderError:
    """Say why a request was refused by its status, and the code that the service names, which is a word and quotes nobody."""
    try:
        error = msgspec.json.decode(await _beginning(response))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        error = None
    after = _retry_after(response.headers.get("retry-after"))
    told = response.status_code in service.refusals
    if response.status_code in (401, 403) and not told and not any(name in response.request.headers for name in _KEY_HEADERS):
        reason = f"{service.title} wants a key ({response.status_code}), and none was sent"
        return ProviderError(reason, 'Say where it is: `key` is "keyring" or "env:NAME".', status=response.status_code)
    return refusal(service, response.status_code, error_code(error), retry_after=after)


def refusal(service: Service, status: int, code: str = "", *, retry_after: float | None = None) -> ProviderError:
    """Say what a status means that a service refused a request with, and which code it named."""
    other = _REDIRECTED if status < 400 else _FAILED if status >= 500 else _UNKNOWN
    reason, remedy, retryable = (
        _TOO_LONG if code in _WINDOW_CODES else service.refusals.get(status) or _REFUSALS.get(status, other)
    )
    words = (service.title, f"{status} {code}" if code else str(status), service.provider)
    return ProviderError(
        reason.format(*words), remedy.format(*words), retryable=retryable, retry_after=retry_after, status=status
    )


async def _beginning(response: httpx.Response) -> bytes:
    import httpx

    gathered = bytearray()
    if _compressed(response):
        return b""
    try:
        async for piece in response.aiter_bytes():
            gathered += piece
            if len(gathered) > 100_000:
                break
    except (httpx.HTTPError, httpx.StreamError):
        pass
    return bytes(gathered)


def error_code(error: object) -> str:
    """Return the error code that an answer of OpenAI's form names, if it is no more than a word."""
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if not isinstance(error, dict):
        return ""
    known = (error.get(name) for name in ("code", "type"))
    return next((item for item in known if isinstance(item, str) and _CODE.fullmatch(item)), "")


def _retry_after(value: str | None) -> float | None:
    """Return the seconds that the header asks to wait, given as a number or a date."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None  # noqa: PLR0124 - "nan" is a float
