"""`carrel serve`: take stdio, answer `initialize` at once, then load the server and hand the connection over.

Importing an LSP library costs more than half a second on a slow machine; an editor waits for `initialize` before it
does anything else. So the first message is read and answered here with the standard library's means.
"""

from __future__ import annotations

import json
import os
import sys
from typing import BinaryIO

from carrel.frontends.interrupts import leave_at_once
from carrel.frontends.transport import BadFrame, claim_stdio, frame, read_frame


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
    answered = _answer_initialize(first, stdout)
    from carrel.frontends.lsp import run  # noqa: PLC0415 - the point of this module

    return run(stdin, stdout, first, answered)


def _answer_initialize(first: bytes, stdout: BinaryIO) -> str | int | None:
    """Answer a well-formed `initialize`; gives its id, or None when the server shall look at it itself."""
    try:
        message = json.loads(first)
        identity, params = message["id"], message["params"]
        usable = message["method"] == "initialize" and isinstance(params, dict) and type(identity) in (str, int)
    except (ValueError, KeyError, TypeError):
        return None
    if not usable:
        return None
    from carrel.frontends.capabilities import initialize_result  # noqa: PLC0415 - only now needed

    body = json.dumps({"jsonrpc": "2.0", "id": identity, "result": initialize_result()}, separators=(",", ":"))
    try:
        stdout.write(frame(body.encode()))
    except OSError:
        return None
    return identity  # type: ignore[no-any-return]


def main() -> None:
    """Run and leave without waiting for anything that hangs."""
    leave_at_once()
    code = serve()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
