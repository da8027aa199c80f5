"""A provider's API, and what is told where it refuses a request or can't be reached: cause and remedy in words that quote nobody.

A refusal is known by its status, and by the code that the service names, which is a word; the rest of what it says isn't shown:
it may quote a key or what was sent. Of a server's certificate it is said why it wasn't taken.
"""

# ruff: noqa: PLC0415 - httpx takes 0.1 s to import, and most processes ask no remote service
from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.outbound import Destination, Role, is_loopback
from carrel.model.patterns import is_name

if TYPE_CHECKING:
    import httpx

Refusal = tuple[str, str, bool]
"""Reason, remedy, and whether waiting helps."""
IDLE_SECONDS = 60.0
"""Between two pieces of an answer, where a service is known to need no longer. How long a whole request may take is the caller's
to say."""
_KEY_HEADERS = ("authorization", "api-key", "x-api-key")


class Service(Struct, frozen=True):
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


def unreachable(error: Exception, service: Service) -> ProviderError:
    """Say why a service couldn't be asked, or not to the end."""
    import httpx

    host = service.destination.host
    who = service.title if host in service.title else f"{service.title} at {host}"
    if problem := tls_problem(error, who):
        return problem
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        local = "Start it, or check `baseUrl`."  # no network is in between, and no proxy is asked
        remedy = "Check the network, `httpProxy` and `baseUrl`." if service.leaves_machine else local
        return ProviderError(f"{service.title} can't be reached at {host}", remedy, retryable=True)
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
_WINDOWCODES = ("context_length_exceeded", "exceed_context_size_error")


async def refused(response: httpx.Response, service: Service) -> ProviderError:
    """Say why a request was refused by its status, and the code that the service names, which is a word and quotes nobody."""
    try:
        error = msgspec.json.decode(await _beginning(response))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        error = None
    after = _retry_after(response.headers.get("retry-after"))
    has_reason = response.status_code in service.refusals
    sends_key = any(name in response.request.headers for name in _KEY_HEADERS)
    if response.status_code in (401, 403) and not has_reason and not sends_key:
        reason = f"{service.title} wants a key ({response.status_code}), and none was sent"
        return ProviderError(reason, 'Say where it is: `key` is "keyring" or "env:NAME".', status=response.status_code)
    return refusal(service, response.status_code, error_code(error), retry_after=after)


def refusal(service: Service, status: int, code: str = "", *, retry_after: float | None = None) -> ProviderError:
    """Say what a status means that a service refused a request with, and which code it named."""
    other = _REDIRECTED if status < 400 else _FAILED if status >= 500 else _UNKNOWN
    reason, remedy, retryable = (
        _TOO_LONG if code in _WINDOWCODES else service.refusals.get(status) or _REFUSALS.get(status, other)
    )
    words = (service.title, f"{status} {code}" if code else str(status), service.provider)
    return ProviderError(
        reason.format(*words), remedy.format(*words), retryable=retryable, retry_after=retry_after, status=status
    )


async def _beginning(response: httpx.Response) -> bytes:
    import httpx

    gathered = bytearray()
    if is_compressed(response):
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
    values = (error.get(name) for name in ("code", "type"))
    return next(filter(None, map(as_code, values)), "")


def as_code(value: object) -> str:
    """Return an error code if it is a word that can quote nobody; else nothing."""
    if not isinstance(value, str) or len(value) < 3 or not value.islower() or not value.replace("_", "").isalpha():
        return ""
    return value if is_name(value, 40) else ""


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


def is_compressed(response: httpx.Response) -> bool:
    """Tell whether an answer is compressed, which none asked for."""
    return response.headers.get("content-encoding", "").strip().lower() not in ("", "identity")


TRUST_IT = "Have SSL_CERT_FILE name the certificate of the authority that signed it."
_RENAME = "Ask for it by the name that its certificate is for, or have one made for this name."
_RENEW = "Have it renewed, and check the clock of this machine."
_REMEDIES = {62: _RENAME, 64: _RENAME, 9: _RENEW, 10: _RENEW}
"""By OpenSSL's numbers: another name or address than the certificate is for; not valid yet, or no more."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


def tls_problem(error: BaseException, who: str) -> ProviderError | None:
    """Return what is told of `who` where a connection failed for its encryption; None where it failed for anything else."""
    cause = _ssl_error(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = cause.verify_message.rstrip(".")
        return ProviderError(f"{who} shows a certificate that isn't trusted ({why})", _REMEDIES.get(cause.verify_code, TRUST_IT))
    if cause is not None and any(name in str(cause).upper() for name in _NO_TLS):
        return ProviderError(f"{who} answers without encryption", "Switch TLS on there, or check the port of its URL.")
    return None


def _ssl_error(error: BaseException) -> ssl.SSLError | None:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None or isinstance(seen, ssl.SSLError):
            return seen
        # The client of Qdrant's package names it `source`.
        source = getattr(seen, "source", None)
        seen = source if isinstance(source, BaseException) else seen.__cause__ or seen.__context__
    return None
