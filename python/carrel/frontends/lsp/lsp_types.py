"""Load lsprotocol, without the `repr` of its 500 classes.

Making these is a third of its import, which is the longest part of the server's start; and what can't be printed can't carry
a file's text into a log.
"""

from __future__ import annotations

from functools import partial

import attrs


def load_lsp_types() -> None:
    """Import `lsprotocol.types`. To be called before anything else imports it; later, it does nothing."""
    define = attrs.define
    attrs.define = partial(define, repr=False)
    try:
        import lsprotocol.types  # noqa: F401, PLC0415 - the point of this function
    finally:
        attrs.define = define
