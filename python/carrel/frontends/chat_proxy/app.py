"""The proxy as an ASGI application: guard, rewrite, pass on, stream back. Logs no token and no content."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvicorn

from carrel.frontends.chat_proxy.answer_check import HEADER, MOST_BYTES, StreamText, comment, text_of_answer, verdict
from carrel.frontends.chat_proxy.context_injector import ContextInjector, InjectionOptions, Rewritten
from carrel.frontends.chat_proxy.http_guard import Headers, bearer, framing_refusal, header, listen, refusal, same_token
from carrel.frontends.chat_proxy.questions import MESSAGES, field_of, is_anthropic
from carrel.frontends.chat_proxy.upstream import BadTarget, Upstream, UpstreamModels, connections_to, path_of
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.model.errors import place_of
from carrel.system.background import is_being_cancelled

log = logging.getLogger(__name__)

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST_QUESTION = 64 << 20
_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade host expect".split()
)
_WORKSPACE = b"x-carrel-workspace"
_SESSION = b"x-claude-code-session-id"
_KEYS = (b"authorization", b"x-api-key")
_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    405: "invalid_request_error",
    413: "request_too_large",
    504: "timeout_error",
}
_NEVER_PASSED = frozenset({"CONNECT", "TRACE"})
"""One asks for a tunnel, the other for an echo of the request with the upstream's key in it."""


class CallerDisconnected(Exception):
    """The caller went away."""


class UpstreamAborted(Exception):
    """The upstream broke off in mid-answer. Leaving the application by it makes the server cut the caller's connection too."""


class ChatProxy:
    """The application. One instance a process; requests share the client's connections."""

    def __init__(
        self,
        upstream: Upstream,
        injector: ContextInjector,
        client: httpx.AsyncClient,
        models: UpstreamModels | None = None,
        *,
        checks: bool = True,
    ) -> None:
        """Take who is asked and what adds context; with `checks` citations of answers are checked."""
        self._upstream = upstream
        self._injector = injector
        self._client = client
        self._models = models or UpstreamModels(client)
        self._checks = checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers: Headers = scope["headers"]
        if unclear := framing_refusal(headers, scope["http_version"]):
            await _fail(scope, send, unclear[0], "carrel_refused", unclear[1], close=True)
            return
        if refused := refusal(headers) or self._unauthorised(headers):
            await _fail(scope, send, refused[0], "carrel_refused", refused[1])
            return
        scope["method"] = scope["method"].upper()  # as it is sent on
        if scope["method"] in _NEVER_PASSED:
            await _fail(scope, send, 405, "carrel_refused", f"{scope['method']} isn't passed on.")
            return
        try:
            name, path = path_of(scope["raw_path"])
            url = self._upstream.target(path, scope["query_string"])
        except (BadTarget, httpx.InvalidURL) as error:
            await _fail(scope, send, 400, "carrel_refused", str(error))
            return
        name = header(headers, _WORKSPACE) or name
        try:
            await self._pass(scope, url, path, name, receive, send)
        except CallerDisconnected:
            log.debug("A caller went away")

    def _unauthorised(self, headers: Headers) -> tuple[int, str] | None:
        token = self._upstream.token
        tokens = (header(headers, b"x-carrel-token"), bearer(header(headers, b"authorization")), header(headers, b"x-api-key"))
        if token is None or any(same_token(candidate, token.reveal()) for candidate in tokens):
            return None
        return 401, "Send the token of Carrel's proxy as a bearer token, as X-Api-Key or in X-Carrel-Token."

    async def _pass(self, scope: Scope, url: httpx.URL, path: str, name: str | None, receive: Receive, send: Send) -> None:
        headers = self._forwarded(scope)
        rewritten: Rewritten | None = None
        content: bytes | AsyncIterator[bytes]
        if scope["method"] == "POST" and field_of(path) and not header(headers, b"content-encoding"):
            whole = bytearray()
            async for piece in _body(receive):
                whole += piece
                if len(whole) > LARGEST_QUESTION:
                    await _fail(scope, send, 413, "carrel_too_large", f"A request of more than {LARGEST_QUESTION >> 20} MB.")
                    return
            session = header(scope["headers"], _SESSION)
            rewritten = await _while_wanted(self._rewrite(path, bytes(whole), name, headers, session), receive)
            content = rewritten.body
            headers = [(key, value) for key, value in headers if key != b"content-length"]
        else:
            has_body = any(key in (b"content-length", b"transfer-encoding") for key, _ in scope["headers"])
            content = _body(receive) if has_body else b""
        # Not `build_request`: that adds headers of its own, and would ask for a compression that the caller can't read.
        extensions = {"timeout": self._client.timeout.as_dict()}
        request = httpx.Request(scope["method"], url, headers=headers, content=content, extensions=extensions)
        sending = self._client.send(request, stream=True, follow_redirects=False)  # it would take the key elsewhere
        try:
            # While a body is being passed on, the server's messages are its pieces: whoever leaves then is noticed by those.
            response = await (sending if not isinstance(content, bytes) else _while_wanted(sending, receive))
            try:
                checks = self._checks and not is_anthropic(path)  # agents get their streams as they are
                await _while_wanted(_relay(response, rewritten, send, checks=checks), receive)
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            log.warning("The upstream can't be reached: %s", type(error).__name__)
            status = 504 if isinstance(error, httpx.TimeoutException) else 502
            await _fail(
                scope, send, status, "carrel_upstream_unreachable", f"The upstream can't be reached ({type(error).__name__})."
            )

    async def _rewrite(self, path: str, raw: bytes, name: str | None, headers: Headers, session: str | None) -> Rewritten:
        """Put context into the body; whatever goes wrong there, give it back as it was."""

        def learn() -> None:
            self._models.want(self._upstream.target("/v1/models", b""), headers)

        try:
            return await self._injector.rewrite(path, raw, name, learn, session)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit) or is_being_cancelled():
                raise
            log.error("A question went on as it came: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400 - a trace could quote it
            return Rewritten(raw, "failed")

    def _forwarded(self, scope: Scope) -> Headers:
        kept = _beyond_one_hop(scope["headers"])
        if (token := self._upstream.token) is not None:  # it is for us
            kept = [
                (key, value) for key, value in kept if key not in _KEYS or not same_token(_key_in(key, value), token.reveal())
            ]
        if self._upstream.key is not None:
            kept = [(key, value) for key, value in kept if key not in _KEYS]
            key_value = self._upstream.key.reveal().encode()
            kept.append((b"x-api-key", key_value) if _of_anthropic(scope) else (b"authorization", b"Bearer " + key_value))
        return kept


def _beyond_one_hop(headers: Headers) -> Headers:
    """Return the headers (lower-case names) that are for the other end, without those that are Carrel's alone."""
    named = b",".join(value for key, value in headers if key == b"connection")
    dropped = _HOP | {name.strip().lower() for name in named.split(b",")}
    return [(key, value) for key, value in headers if key not in dropped and not key.startswith(b"x-carrel-")]


def _key_in(name: bytes, value: bytes) -> str | None:
    text = value.decode("latin-1")
    return bearer(text) if name == b"authorization" else text


def _of_anthropic(scope: Scope) -> bool:
    """Tell whether a request is to Anthropic's API, which takes keys in another header and has another form of errors."""
    return header(scope["headers"], b"anthropic-version") is not None or MESSAGES.encode() in scope["raw_path"]


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerDisconnected
        more = message.get("more_body", False)
        if piece := message.get("body", b""):
            yield piece


async def _while_wanted(work: Awaitable[T], receive: Receive) -> T:
    """Await something as long as the caller is there; cancel it and raise `CallerDisconnected` otherwise."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise CallerDisconnected
        return task.result()
    finally:
        for future in (task, leaving):
            future.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _relay(response: httpx.Response, rewritten: Rewritten | None, send: Send, *, checks: bool) -> None:
    """Pass status, headers and bytes on as the upstream sends them, each piece at once.

    With `checks` an answer to a question that was given context tells which of its citations hold. Raises `httpx.HTTPError` for
    what fails before anything was passed on.
    """
    if not 200 <= response.status_code < 600:  # the server has no other, and closes the connection without a word
        raise httpx.RemoteProtocolError("status")
    headers = _beyond_one_hop([(key.lower(), value) for key, value in response.headers.raw])
    if rewritten is not None:
        headers.append((b"x-carrel-context", rewritten.note.encode("ascii", "replace")))
    items = rewritten.items if rewritten is not None and checks and response.is_success else ()
    kind = "" if "content-encoding" in response.headers else response.headers.get("content-type", "").partition(";")[0].strip()
    pieces = response.aiter_raw()
    begin = await _beginning(pieces) if items and kind == "application/json" else b""
    try:
        whole = 0 < len(begin) <= MOST_BYTES
        if whole and (checked := await asyncio.to_thread(lambda: verdict(text_of_answer(begin), items))):
            headers.append((HEADER, checked))
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        if begin:
            await send({"type": "http.response.body", "body": begin, "more_body": True})
        said = StreamText() if items and kind == "text/event-stream" and "content-length" not in response.headers else None
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            if said is not None:
                said.take(piece)
    except httpx.HTTPError as error:
        log.warning("The upstream broke off: %s", type(error).__name__)
        raise UpstreamAborted from None
    last = await asyncio.to_thread(verdict, said.text, items) if said is not None and said.ended else b""
    await send({"type": "http.response.body", "body": comment(last) if last else b""})


async def _beginning(pieces: AsyncIterator[bytes]) -> bytes:
    """Return the whole body, or of a longer one than `MOST_BYTES` what is a little longer."""
    gathered = bytearray()
    async for piece in pieces:
        gathered += piece
        if len(gathered) > MOST_BYTES:
            break
    return bytes(gathered)


async def _fail(scope: Scope, send: Send, status: int, kind: str, message: str, *, close: bool = False) -> None:
    value: dict[str, Any] = {"error": {"message": message, "type": kind, "code": None, "param": None}}
    if _of_anthropic(scope):
        value = {"type": "error", "error": {"type": _ANTHROPIC_ERRORS.get(status, "api_error"), "message": message}}
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"connection", b"close")] if close else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_CONNECT_SECONDS = 10.0


async def serve(
    port: int, upstream: Upstream, options: InjectionOptions, started: Callable[[int, tuple[Path, ...]], None]
) -> None:
    """Listen on the port and serve; `started` gets it once connections are taken, and the folders without an index."""
    # uvicorn and httpx would log paths and failures with their traces; what is worth saying is said by us, without contents.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with listen(port) as listening:
        # A model may think for minutes: only connecting has a limit.
        timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
        async with httpx.AsyncClient(timeout=timeout, transport=connections_to(upstream.url), trust_env=False) as client:
            models = UpstreamModels(client)
            injector = ContextInjector(options, ContextSwitch(), models.window)
            app = ChatProxy(upstream, injector, client, models, checks=options.checks)
            config = uvicorn.Config(
                app,
                http="h11",  # another parser, where one is installed, takes other targets
                ws="none",
                proxy_headers=False,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=3,
            )
            started(listening.getsockname()[1], injector.unindexed())
            warming = asyncio.create_task(injector.warm_up())
            try:
                await uvicorn.Server(config).serve(sockets=[listening])
            finally:
                warming.cancel()
                try:
                    await asyncio.gather(warming, models.close(), return_exceptions=True)
                finally:  # a Ctrl-C that uvicorn passes on cancels the line above
                    await injector.close()
