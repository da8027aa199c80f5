"""Ask the operations of an HTTP service that an OpenAPI document describes, at the address that the person's settings name.

The document says only which path, which parameters and which place for the key. Arguments are data: none can leave its place in
the path, the query or a header, and no redirect is followed, so that a key goes to the person's host alone.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from carrel.model.catalogue_tool import HttpCall, HttpKey, HttpParameter, ToolOutput, canonical, same_parameter
from carrel.model.errors import ProviderError
from carrel.model.outbound import Load, Outbound
from carrel.providers.http import Form, ServiceClient
from carrel.providers.service import Refusal, Service

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
class _Request:
    target: str
    headers: Mapping[str, str]
    body: Any = None


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of one request, as they are sent."""

    headers_: Mapping[str, str] = field(default_factory=dict)
    query: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    """What no answer may tell: each key, and each spelling that a service is sent."""

    async def headers(self) -> Mapping[str, str]:
        """Return the headers with keys."""
        return self.headers_

    def rejected(self) -> bool:
        """Tell that there is no other key."""
        return False


class OpenApiService:
    """One service of the person's.

    `key` says where its key is; `keys` where those are that operations with several ask for, by the document's names of them.
    """

    def __init__(
        self,
        name: str,
        url: str,
        key: str,
        outbound: Outbound,
        *,
        keys: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Take the source's name, where its paths begin, and where its keys are."""
        self._name = name
        self._url = url
        self._key = key
        self._keys = keys or {}
        self._outbound = outbound
        self._transport = transport

    async def call(self, call: HttpCall, arguments: Mapping[str, Any]) -> ToolOutput:
        """Ask an operation. Raises `ProviderError`; what the service sends with a refusal is never told."""
        request = request_of(call, arguments)
        service = Service("openapi", self._name, self._url, "tool", request.headers, refusals=_REFUSALS)
        keys = await self._find_keys(call.keys)
        target = request.target
        if keys.query:
            if not service.encrypted:
                raise ProviderError(
                    f"The key for {self._name} was not sent: it is asked without encryption", "Set a `url` with https://."
                )
            target += f"{'&' if '?' in target else '?'}{_encoded(keys.query)}"
        client = ServiceClient(service, self._outbound, keys, transport=self._transport)
        load = Load(texts=1, characters=len(canonical(arguments)))
        try:
            kind, content = await client.content(call.method, target, request.body, load, most_bytes=MOST_ANSWER)
        finally:
            await client.aclose()
        return _answer(kind, _without(content, keys.secrets), keys.secrets)

    async def _find_keys(self, wanted: Sequence[HttpKey]) -> _Keys:
        """Find the keys anew, as the person may have changed them. Raises `ProviderError` where one isn't in its place."""
        headers: dict[str, str] = {}
        query: list[tuple[str, str]] = []
        secrets: set[str] = set()
        for key in wanted:
            value = await self._value(key, alone=len(wanted) == 1)
            if not value:
                continue
            sent = _written(key, value, self._name)
            secrets |= {value, sent.rpartition(" ")[2], *(value.split(":", 1)[1:] if key.form == "basic" else ())}
            match key.place:
                case "query":
                    query.append((key.name, sent))
                case "cookie":
                    cookie = f"{key.name}={quote(sent, safe='')}"
                    headers["Cookie"] = "; ".join(filter(None, (headers.get("Cookie"), cookie)))
                case "header":
                    headers[key.name] = sent
        return _Keys(headers, tuple(query), tuple(secret for secret in secrets if len(secret) >= _SHORTEST_KEY))

    async def _value(self, key: HttpKey, *, alone: bool) -> str:
        """Return a key; empty where none is set."""
        place, named = self._keys.get(key.scheme), f"tools-{self._name}-{key.scheme}"
        if place is None:
            if not alone and self._key not in ("", "none"):
                raise ProviderError(
                    f"{self._name} asks for several keys at once, and nothing says where {key.scheme} is",
                    f'Name it in its settings: `keys = {{ {key.scheme} = "env:NAME" }}`.',
                )
            place, named = self._key, f"tools-{self._name}"
        if place in ("", "none"):
            return ""
        secret = await asyncio.to_thread(self._outbound.keys.find, named, place)
        if secret is None:
            raise ProviderError(f"There is no key for {self._name} where its settings say")
        return secret.reveal()


def _written(key: HttpKey, value: str, name: str) -> str:
    """Return a key as it is sent. Raises `ProviderError` for one that isn't what the operation asks for."""
    if key.form == "basic":
        if ":" not in value:
            raise ProviderError(f"{name} asks for a user's name and password", "Give its key as `name:password`.")
        return f"Basic {b64encode(value.encode()).decode()}"
    return f"Bearer {value}" if key.form == "bearer" else value


def _without(content: bytes, secrets: Iterable[str]) -> bytes:
    """Return an answer without the keys: some services say what they were asked, and a model would be told it."""
    for key in sorted(secrets, key=len, reverse=True):
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
                taken = [other.name for other in call.parameters if other is not parameter and other.place == "query"]
                pairs += _pairs(parameter, value, [*taken, *(key.name for key in call.keys)])
            case "header":
                headers[parameter.name] = _header(parameter, value)
    if any(_climbs(segment) for segment in path.split("/")):
        raise ProviderError("The arguments would make a path that leads elsewhere", "Give names without dots and slashes.")
    target = f"{path}?{_encoded(pairs)}" if pairs else path
    if len(target) > _LONGEST_TARGET:
        raise ProviderError(f"The arguments make an address of more than {_LONGEST_TARGET:,} characters")
    body = arguments.get(call.body) if call.body else None
    if call.body_form and body is not None:
        body = Form(_encoded(_form(call, body)))
    return _Request(target, headers, body)


def _encoded(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs)


def _form(call: HttpCall, body: Any) -> Iterator[tuple[str, str]]:
    """Give the fields of a form; a list repeats its name."""
    if not isinstance(body, Mapping):
        raise ProviderError(f"{call.body}: must be an object, whose fields are those of a form")
    for name, value in body.items():
        _check_field(call.body, str(name), call.body_fields, ())
        items = value if isinstance(value, list) else [value]
        if any(isinstance(item, Mapping | list) for item in items):
            raise ProviderError(f"{call.body}: its field {str(name)[:60]} can't stand in a form: it holds further fields")
        yield from ((str(name), _plain(item)) for item in items if item is not None)


def _check_field(argument: str, name: str, declared: Sequence[str] | None, taken: Iterable[str]) -> None:
    """Raise `ProviderError` for a field that would stand as a parameter of its own and isn't the argument's to set."""
    if any(same_parameter(name, other) for other in taken):
        raise ProviderError(f"{argument}: its field {name[:60]} is another parameter's name")
    if declared is not None:
        if name not in declared:
            raise ProviderError(f"{argument}: has no field {name[:60]}", f"It has: {', '.join(declared[:20]) or 'none'}.")
    elif name.startswith("_"):  # such as `_method`, which many services read as another method
        raise ProviderError(f"{argument}: its field {name[:60]} begins with an underscore, which may order something else")


def _segment(parameter: HttpParameter, value: Any) -> str:
    text = _joined(value, ",")
    whole = unquote(unquote(text))  # some servers decode twice
    if not text or any(character in whole for character in "/\\") or _controls(whole):
        raise ProviderError(f"{parameter.argument}: can't stand in a path: it is empty, or holds a slash or a control character")
    return quote(text, safe="")


def _climbs(segment: str) -> bool:
    return unquote(unquote(segment)).partition(";")[0] in (".", "..")  # what is behind a semicolon is no part of the name


def _pairs(parameter: HttpParameter, value: Any, taken: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give what stands in the query for an argument; `taken` are the other names in it, which a field may not have."""
    if isinstance(value, Mapping) and (parameter.deep or not parameter.delimiter):
        for key, item in value.items():
            if not parameter.deep:
                _check_field(parameter.argument, str(key), parameter.fields, taken)
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


def _cleared(value: Any, secrets: Sequence[str]) -> Any:
    """Return a value without the keys: JSON has several spellings of a character."""
    if isinstance(value, str):
        for key in sorted(secrets, key=len, reverse=True):
            value = value.replace(key, _NO_KEY)
        return value
    if isinstance(value, list):
        return [_cleared(item, secrets) for item in value]
    if isinstance(value, dict):
        return {_cleared(name, secrets): _cleared(item, secrets) for name, item in value.items()}
    return value


def _answer(kind: str, content: bytes, secrets: Sequence[str] = ()) -> ToolOutput:
    """Return what was said; of what is no text, its kind alone."""
    kind = kind.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        text = content.decode("utf-8", "replace")
        try:
            value = json.loads(text)
            if (cleared := _cleared(value, secrets)) != value:
                return ToolOutput(json.dumps(cleared, ensure_ascii=False), cleared)
            return ToolOutput(text, value)
        except (ValueError, RecursionError):
            return ToolOutput(text)
    if kind.startswith("text/") or kind in ("", "application/xml", "application/yaml") or kind.endswith("+xml"):
        return ToolOutput(content.decode("utf-8", "replace"))
    return ToolOutput(f"[{len(content):,} bytes that are no text]")
