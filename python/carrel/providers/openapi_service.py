"""Ask the operations of an HTTP service that an OpenAPI document describes, at the address that the person's settings name.

The document says only which path, which parameters and which place for the key. Arguments are data: none can leave its place in
the path, the query or a header, and no redirect is followed, so that a key goes to the person's host alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from carrel.core.catalogue_tool import HttpCall, HttpKey, HttpParameter, canonical
from carrel.core.errors import ProviderError
from carrel.core.outbound import Load, Outbound
from carrel.providers.http import Refusal, Service, ServiceClient

if TYPE_CHECKING:
    import httpx

MOST_ANSWER = 1_000_000
"""Bytes of an answer that are read; a step of a pipeline may hold no more."""
_LONGEST_TARGET = 8_000
"""Characters of a path with its query: most servers take no more."""
_LONGEST_HEADER = 2_000
_NO_KEY = "[the key]"
_SHORTEST_KEY = 4
"""A shorter one is no secret, and would be found in any text."""
_REFUSALS: Mapping[int, Refusal] = {
    400: ("{0} can't use these arguments ({1})", "", False),
    401: ("{0} wants another key, or one at all ({1})", "Check the key that its setting `key` names.", False),
    402: ("{0} wants to be paid first ({1})", "Look at your account there.", False),
    403: ("{0} doesn't allow this ({1})", "Check the key that its setting `key` names.", False),
    404: ("{0} has nothing there ({1})", "Check the arguments, and its `url`.", False),
    405: ("{0} has no such operation ({1})", "Read its document again: `carrel tools refresh`.", False),
    409: ("{0} says that this clashes with what it holds ({1})", "", False),
    413: ("{0} found the request too long ({1})", "", False),
    422: ("{0} can't use these arguments ({1})", "", False),
    429: ("{0} allows no more requests for now ({1})", "Wait.", False),
}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What an operation said: its text, and its value where that is JSON."""

    text: str
    value: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    target: str
    headers: Mapping[str, str]
    body: Any = None


class _Key:
    """The key of one operation, found anew for each request."""

    def __init__(self, name: str, place: str, key: HttpKey | None, outbound: Outbound) -> None:
        self._name = name
        self._place = place
        self._key = key
        self._outbound = outbound

    async def value(self) -> str:
        """Return the key; empty where none is asked for or set. Raises `ProviderError` where it isn't in its place."""
        if self._key is None or self._place in ("", "none"):
            return ""
        found = await asyncio.to_thread(self._outbound.keys.find, f"tools-{self._name}", self._place)
        if found is None:
            raise ProviderError(f"There is no key for {self._name} where its setting `key` says")
        return found.reveal()

    async def headers(self) -> Mapping[str, str]:
        """Return the header with the key."""
        value = await self.value()
        if not value or self._key is None or self._key.place == "query":
            return {}
        if self._key.place == "cookie":
            return {"Cookie": f"{self._key.name}={quote(value, safe='')}"}
        return {self._key.name: f"Bearer {value}" if self._key.bearer else value}

    def rejected(self) -> bool:
        """Tell that there is no other key."""
        return False


class OpenApiService:
    """One service of the person's. `key` says where its key is."""

    def __init__(
        self, name: str, url: str, key: str, outbound: Outbound, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """Take the source's name, where its paths begin, and where its key is."""
        self._name = name
        self._url = url
        self._key = key
        self._outbound = outbound
        self._transport = transport

    async def call(self, call: HttpCall, arguments: Mapping[str, Any]) -> HttpAnswer:
        """Ask an operation. Raises `ProviderError`; what the service sends with a refusal is never told."""
        request = request_of(call, arguments)
        service = Service("openapi", self._name, self._url, "tool", request.headers, refusals=_REFUSALS)
        auth = _Key(self._name, self._key, call.key, self._outbound)
        target = request.target
        value = await auth.value()
        if value and call.key is not None and call.key.place == "query":
            if not service.encrypted:
                raise ProviderError(
                    f"The key for {self._name} was not sent: it is asked without encryption", "Set a `url` with https://."
                )
            target += f"{'&' if '?' in target else '?'}{quote(call.key.name, safe='')}={quote(value, safe='')}"
        client = ServiceClient(service, self._outbound, auth, transport=self._transport)
        load = Load(texts=1, characters=len(canonical(arguments)))
        try:
            kind, content = await client.content(call.method, target, request.body, load, most_bytes=MOST_ANSWER)
        finally:
            await client.aclose()
        secret = value if len(value) >= _SHORTEST_KEY else ""
        return _answer(kind, _without(content, secret) if secret else content, secret)


def _without(content: bytes, key: str) -> bytes:
    """Return an answer without the key: some services say what they were asked, and a model would be told it."""
    for spelled in {key, quote(key, safe=""), json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]}:
        content = content.replace(spelled.encode("utf-8", "replace"), _NO_KEY.encode())
    return content


def request_of(call: HttpCall, arguments: Mapping[str, Any]) -> _Request:
    """Return the request of an operation with these arguments. Raises `ProviderError` for one that would leave its place."""
    path, headers = call.path, dict[str, str]()
    pairs: list[tuple[str, str]] = []
    for parameter in call.parameters:
        value = arguments.get(parameter.argument)
        if value is None:
            if parameter.place == "path":
                raise ProviderError(f"{parameter.argument}: is missing, and the path needs it")
            continue
        match parameter.place:
            case "path":
                path = path.replace(f"{{{parameter.name}}}", _segment(parameter, value))
            case "query":
                named = {other.name for other in call.parameters if other is not parameter}
                named |= {call.key.name} if call.key else set()
                pairs += _pairs(parameter, value, named)
            case "header":
                headers[parameter.name] = _header(parameter, value)
    if any(_climbs(segment) for segment in path.split("/")):
        raise ProviderError("The arguments would make a path that leads elsewhere", "Give names without dots and slashes.")
    query = "&".join(f"{quote(key, safe='')}={quote(item, safe='')}" for key, item in pairs)
    target = f"{path}?{query}" if query else path
    if len(target) > _LONGEST_TARGET:
        raise ProviderError(f"The arguments make an address of more than {_LONGEST_TARGET:,} characters")
    return _Request(target, headers, arguments.get(call.body) if call.body else None)


def _segment(parameter: HttpParameter, value: Any) -> str:
    text = _joined(value, ",")
    whole = unquote(unquote(text))  # some servers decode twice
    if not text or any(character in whole for character in "/\\") or _controls(whole):
        raise ProviderError(f"{parameter.argument}: can't stand in a path: it is empty, or holds a slash or a control character")
    return quote(text, safe="")


def _climbs(segment: str) -> bool:
    return unquote(unquote(segment)).partition(";")[0] in (".", "..")  # what is behind a semicolon is no part of the name


def _pairs(parameter: HttpParameter, value: Any, named: set[str]) -> Iterator[tuple[str, str]]:
    """Give what stands in the query for an argument; `named` are the other names in it, which a field may not take."""
    if isinstance(value, Mapping) and (parameter.deep or not parameter.delimiter):
        for key, item in value.items():
            if not parameter.deep and (key in named or str(key).startswith("_")):
                raise ProviderError(f"{parameter.argument}: its field {key[:60]} is another parameter's name")
            yield f"{parameter.name}[{key}]" if parameter.deep else str(key), _plain(item)
    elif isinstance(value, list) and not parameter.delimiter:
        for item in value:
            yield parameter.name, _plain(item)
    else:
        yield parameter.name, _joined(value, parameter.delimiter)


def _header(parameter: HttpParameter, value: Any) -> str:
    text = _joined(value, ",")
    if _controls(text) or not text.isascii() or len(text) > _LONGEST_HEADER:
        raise ProviderError(f"{parameter.argument}: can't stand in a header: only up to {_LONGEST_HEADER:,} plain characters can")
    return text.strip()


def _joined(value: Any, delimiter: str) -> str:
    if isinstance(value, list):
        return delimiter.join(map(_plain, value))
    if isinstance(value, Mapping):
        return delimiter.join(f"{key}{delimiter}{_plain(item)}" for key, item in value.items())
    return _plain(value)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _controls(text: str) -> bool:
    return any(ord(character) < 0x20 or ord(character) == 0x7F for character in text)


def _cleared(value: Any, key: str) -> Any:
    """Return a value without the key: JSON has several spellings of a character."""
    if isinstance(value, str):
        return value.replace(key, _NO_KEY)
    if isinstance(value, list):
        return [_cleared(item, key) for item in value]
    if isinstance(value, dict):
        return {_cleared(name, key): _cleared(item, key) for name, item in value.items()}
    return value


def _answer(kind: str, content: bytes, key: str = "") -> HttpAnswer:
    """Return what was said; of what is no text, its kind alone."""
    kind = kind.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        text = content.decode("utf-8", "replace")
        try:
            value = json.loads(text)
            if key and (cleared := _cleared(value, key)) != value:
                return HttpAnswer(json.dumps(cleared, ensure_ascii=False), cleared)
            return HttpAnswer(text, value)
        except (ValueError, RecursionError):
            return HttpAnswer(text)
    if kind.startswith("text/") or kind in ("", "application/xml", "application/yaml") or kind.endswith("+xml"):
        return HttpAnswer(content.decode("utf-8", "replace"))
    return HttpAnswer(f"[{len(content):,} bytes that are no text]")
