"""pygls's protocol with what Carrel needs beside it: raw parameters for `carrel/*`, exactly one answer to every request
(also to one that can't be read), errors by kind, and nothing of a message's content in any log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
import uuid
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import cattrs
import msgspec
from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCRequestMessage, JsonRPCResponseMessage, LanguageServerProtocol, lsp_method

from carrel.frontends.lsp.convert.convert_questions import error_data, on_wire
from carrel.frontends.lsp.messages.methods import COMMANDS, initialize_result
from carrel.model.errors import Cancelled, CarrelError, InvalidInput
from carrel.model.patterns import lazy_pattern

log = logging.getLogger(__name__)

INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR = -32600, -32601, -32700
INVALID_PARAMS, INTERNAL_ERROR, NOT_INITIALIZED = -32602, -32603, -32002
REQUEST_CANCELLED, REQUEST_FAILED = -32800, -32803

_NOTHING_TOLD: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
"""The parameters of `initialize` that a client must give."""

Handler = Callable[[Any], Coroutine[Any, Any, Any]]


def to_rpc_error(error: BaseException) -> JsonRpcException:
    """Encode an error: kinds become codes, faults of ours say nothing of their content."""
    if isinstance(error, JsonRpcException):
        return error
    if isinstance(error, Cancelled):
        return JsonRpcException(str(error) or "cancelled", REQUEST_CANCELLED)
    if isinstance(error, CarrelError):
        shown = on_wire(error)
        code = INVALID_PARAMS if isinstance(shown, InvalidInput) else REQUEST_FAILED
        return JsonRpcException(str(shown), code, msgspec.to_builtins(error_data(shown)))
    # Without the message: it may quote what was being worked on.
    log.error("%s in a request, at:\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return JsonRpcException(f"Something went wrong inside Carrel ({type(error).__name__}); its log says where.", INTERNAL_ERROR)


_HALF = lazy_pattern(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_ID = lazy_pattern(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')


def _decoded(body: bytes) -> Any:
    """Decode JSON; half of an emoji that a client cut, or a byte that is not UTF-8, is replaced: no chat may hang on one."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(_HALF.sub(r"\\ufffd", body.decode("utf-8", "replace")))


def _ids_in(body: bytes) -> Iterator[str | int]:
    """Find what may be the id of a message that can't be read, so that who waits hears of it; its own mostly comes first."""
    for match in _ID.finditer(body):
        with contextlib.suppress(msgspec.DecodeError):
            yield msgspec.json.decode(match[1], type=str | int)


class CarrelProtocol(LanguageServerProtocol):
    """The protocol of one connection."""

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        self.requests: dict[str, Handler] = {}
        self.answered: str | int | None = None  # the `initialize` that was answered before this was loaded
        self.on_exit: Callable[[int], None] = lambda _: None
        self.on_progress_cancel: Callable[[str | int], None] = lambda _: None
        self._initialized = False
        self._asked_to_stop = False  # `shutdown` came; pygls notes it only when it was answered

    # --- in

    def feed(self, body: bytes) -> None:
        """Take one message. Never raises."""
        try:
            data = _decoded(body)
        except (msgspec.DecodeError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else "not JSON"
            if not any(self._unreadable(identity, reason) for identity in _ids_in(body)):
                self._fail(next(_ids_in(body), None), PARSE_ERROR, reason)
            return
        if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
            identity, reason = data.get("id") if isinstance(data, dict) else None, "not a JSON-RPC 2.0 message"
            if not self._unreadable(identity, reason):
                self._fail(identity, INVALID_REQUEST, reason)
            return
        try:
            self._take(data)
        except Exception as error:
            wrong = to_rpc_error(error)
            if "id" in data and "method" in data:
                self._fail(data["id"], wrong.code, wrong.message, wrong.data)

    def _take(self, data: dict[str, Any]) -> None:
        method, identity = data.get("method"), data.get("id")
        if method is None:
            self._take_response(data)
            return
        is_request = "id" in data
        if not isinstance(method, str) or (is_request and type(identity) not in (str, int)):
            self._fail(identity, INVALID_REQUEST, "a method is a string, an id a string or a number")
            return
        if is_request and not self._initialized and method != types.INITIALIZE:
            self._fail(identity, NOT_INITIALIZED, "the server waits for `initialize`")
            return
        if is_request and self._asked_to_stop:
            self._fail(identity, INVALID_REQUEST, "the server was shut down")
            return
        self._asked_to_stop |= is_request and method == types.SHUTDOWN
        if is_request and (method in self.requests or method == types.WORKSPACE_EXECUTE_COMMAND):
            # As it came: pygls would make nested named tuples of it.
            self.handle_message(JsonRPCRequestMessage(identity, method, "2.0", data.get("params")))  # type: ignore[arg-type]
            return
        if method == types.INITIALIZE:
            data = self._mend_initialize(data)
        elif is_request and method not in types.METHOD_TO_TYPES:
            self._fail(identity, METHOD_NOT_FOUND, f"unknown method {method[:100]}")
            return
        try:
            message = self._structure(data)
        except JsonRpcInvalidParams:
            if method != types.INITIALIZE:
                raise
            message = self._structure(self._without_unreadable(data))  # it was answered already, and must be the start
        self.handle_message(message)

    def _without_unreadable(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return an `initialize` without the parameters that can't be read."""
        kept: dict[str, Any] = dict(_NOTHING_TOLD)
        for name, value in data["params"].items():
            with contextlib.suppress(JsonRpcInvalidParams):
                self._structure({**data, "params": {**_NOTHING_TOLD, name: value}})
                kept[name] = value
        return {**data, "params": kept}

    def _structure(self, data: dict[str, Any]) -> Any:
        kind = self.get_message_type(data["method"])
        if kind is None:
            return self.structure_message(data)
        try:
            return self._converter.structure(data, kind)
        except (cattrs.BaseValidationError, KeyError, TypeError, ValueError) as error:
            reasons = (
                cattrs.transform_error(error, path="message")
                if isinstance(error, cattrs.BaseValidationError)
                else ["can't be read"]
            )
            raise JsonRpcInvalidParams("; ".join(reasons[:3])) from None

    def _mend_initialize(self, data: dict[str, Any]) -> dict[str, Any]:
        """Add what the specification demands and clients leave out; pygls would leave them without an answer."""
        present = data.get("params")
        params = dict(present) if isinstance(present, dict) else {}
        if not isinstance(params.get("capabilities"), dict):
            params["capabilities"] = {}
        params = {**_NOTHING_TOLD, **params}
        self._initialized = True
        return {**data, "params": params}

    def _take_response(self, data: dict[str, Any]) -> None:
        error = data.get("error")
        if error and not isinstance(error, dict):
            self._unreadable(data.get("id"), "its error is no object")
        elif (future := self._awaited(data.get("id"))) and error:
            future.set_exception(JsonRpcException(str(error.get("message")), error.get("code")))
        elif future:
            future.set_result(data.get("result"))

    def _awaited(self, identity: Any) -> Future[Any] | None:
        """Return who waits for the answer to this request of ours, once."""
        future = self._request_futures.pop(identity, None) if isinstance(identity, str) else None
        return None if future is None or future.done() else future

    def _unreadable(self, identity: Any, reason: str) -> bool:
        """Tell who waits for this answer that it came, but can't be read; false if nobody does."""
        future = self._awaited(identity)
        if future:
            future.set_exception(JsonRpcException(f"the client's answer can't be read: {reason}", INVALID_REQUEST))
        return future is not None

    # --- out

    def _send_data(self, data: Any) -> None:
        if isinstance(data, JsonRPCResponseMessage):
            if data.id == self.answered and self.answered is not None:
                self.answered = None
                return
            self._write({"jsonrpc": "2.0", "id": data.id, "result": data.result})
        elif data:
            self._write(self._converter.unstructure(data))

    def send(self, method: str, params: Any) -> None:
        """Notify the client; `params` is plain data or a wire struct."""
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def ask_client(self, method: str, params: Any) -> asyncio.Future[Any]:
        """Send the client a request; gives its result as plain data. Who cancels the wait takes the request back."""
        identity = f"carrel-{uuid.uuid4().hex[:12]}"
        future: Future[Any] = Future()
        self._request_futures[identity] = future
        self._write({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        waiting: asyncio.Future[Any] = asyncio.wrap_future(future)
        waiting.add_done_callback(lambda done: self._take_back(identity) if done.cancelled() else None)
        return waiting

    def _take_back(self, identity: str) -> None:
        if self._request_futures.pop(identity, None):
            self.send("$/cancelRequest", {"id": identity})

    def _fail(self, identity: Any, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self._write({"jsonrpc": "2.0", "id": identity, "error": error})

    def _write(self, message: Any) -> None:
        if self.writer is not None:
            body = msgspec.json.encode(message)
            self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    # --- what pygls does in its own way

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Any:
        """Set the workspace up as pygls does; answer with Carrel's own, which was given already as a rule."""
        yield from super().lsp_initialize(params)
        return initialize_result()

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: Any) -> Any:  # type: ignore[override]
        """Run `carrel.search` as `carrel/search`, with one argument object."""
        params = params if isinstance(params, dict) else {}
        method = COMMANDS.get(str(params.get("command")))
        arguments = params.get("arguments") or [{}]
        if method is None:
            raise to_rpc_error(InvalidInput("command", "there is no such command"))
        if not isinstance(arguments, list) or len(arguments) != 1:
            raise to_rpc_error(InvalidInput("arguments", "must be one object"))
        argument = arguments[0]
        if isinstance(argument, dict) and params.get("workDoneToken") is not None:
            argument = {"workDoneToken": params["workDoneToken"], **argument}
        return await self.requests[method](argument)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        """Stop what reports under this token."""
        self.on_progress_cancel(params.token)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]
        """End the process: 0 after `shutdown`, else 1."""
        self.on_exit(0 if self._asked_to_stop else 1)


class CarrelServer(LanguageServer):
    """pygls's server with faults logged instead of shown."""

    protocol: CarrelProtocol

    def listen(self, method: str, handler: Callable[..., Any]) -> None:
        """Have a bound method take a message; pygls marks what it registers with attributes, which such a method doesn't take."""
        self.feature(method)(partial(handler))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log a fault in handling a notification; requests have their own way to tell."""
        if source is FeatureRequestError:
            return
        log.error("%s in handling a message (%s)", type(error).__name__, getattr(source, "__name__", source))
