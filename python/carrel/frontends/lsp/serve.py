"""`carrel serve`: take stdio, answer `initialize` at once, then load the server and hand the connection over.

Importing an LSP library costs more than half a second on a slow machine; an editor waits for `initialize` before it
does anything else. So the first message is read and answered here with the standard library's means. Where a chat may ask
soon, the tokenizer's table, which is read without the interpreter's lock, is loaded meanwhile.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from functools import partial
from typing import Any, BinaryIO

from carrel.frontends.common import parent_process
from carrel.frontends.common.core_dumps import disable_core_dumps
from carrel.frontends.common.interrupts import leave_at_once
from carrel.frontends.common.transport import BadFrame, claim_stdio, frame, read_frame
from carrel.system import leftovers


def load_lsp_types() -> None:
    """Import `lsprotocol.types` without the `repr` and the `==` of its 500 classes; does nothing once it is imported.

    Making these is half of its import, which is the longest part of the server's start. Nothing compares messages, and what can't
    be printed can't carry a file's text into a log. Positions, ranges and locations have a `==` that is written in the library.
    """
    import attrs  # noqa: PLC0415 - after `initialize` is answered

    define = attrs.define
    attrs.define = partial(define, repr=False, eq=False)
    try:
        import lsprotocol.types  # noqa: F401, PLC0415 - the point of this function
    finally:
        attrs.define = define


def serve() -> int:
    """Speak LSP on stdio until the editor ends it; gives the exit code."""
    stdin, stdout = claim_stdio()
    cause = "the input ended before the first message"
    try:
        first = read_frame(stdin)
    except (BadFrame, OSError) as error:
        first, cause = None, str(error)
    if first is None:
        sys.stderr.write(f"carrel serve: {cause}. An editor starts this, and speaks LSP with it on standard input and output.\n")
        return 1
    params = _initialize_params(first)
    if params and type(params[1].get("processId")) is int:
        parent_process.end_with(params[1]["processId"])  # now: it may be gone when the server is loaded
    answered = _answer(params[0], stdout) if params else None
    if params and _asks_soon(params[1]):
        threading.Thread(target=_load_tokenizer, name="carrel-tokenizer", daemon=True).start()
    gc.disable()  # until all is imported: none of it is garbage
    load_lsp_types()
    from carrel.frontends.lsp.server import run  # noqa: PLC0415

    return run(stdin, stdout, first, answered)


def _initialize_params(first: bytes) -> tuple[str | int, dict[str, Any]] | None:
    """Return id and parameters of a well-formed `initialize`; None when the server shall look at the message itself."""
    try:
        message = json.loads(first)
        identity, params = message["id"], message["params"]
        usable = (message["jsonrpc"], message["method"]) == ("2.0", "initialize") and isinstance(params, dict)
        usable = usable and type(identity) in (str, int)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (identity, params) if usable else None


def _answer(identity: str | int, stdout: BinaryIO) -> str | int | None:
    """Answer `initialize`; gives its id, or None when nobody could be told."""
    from carrel.frontends.lsp.messages.methods import initialize_result  # noqa: PLC0415 - only now needed

    body = json.dumps({"jsonrpc": "2.0", "id": identity, "result": initialize_result()}, separators=(",", ":"))
    try:
        stdout.write(frame(body.encode()))
    except OSError:
        return None
    return identity


def _asks_soon(params: dict[str, Any]) -> bool:
    """Return whether the editor's settings switch context on. A file may still switch it off: then a table was read in vain."""
    from carrel.frontends.lsp.messages.methods import own_settings  # noqa: PLC0415 - only now needed

    section = own_settings(params.get("initializationOptions"))
    return section is not None and section.get("ragEnabled") is True


def _load_tokenizer() -> None:
    from carrel.model.native import count_tokens  # noqa: PLC0415 - only now needed

    count_tokens("warm", "cl100k_base")


def main() -> None:
    """Run and leave without waiting for anything that hangs."""
    leave_at_once()
    parent_process.end_with_parent()
    disable_core_dumps()
    code = serve()
    sys.stderr.flush()
    leftovers.leave(code)


if __name__ == "__main__":
    main()
