"""The LSP library as the server loads it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
from carrel.frontends.lsp.serve import load_lsp_types
load_lsp_types()
load_lsp_types()
from lsprotocol import types
from lsprotocol.converters import get_converter
item = types.TextDocumentItem("file:///a.py", "python", 1, "the file's own text")
assert "own text" not in repr(types.DidOpenTextDocumentParams(item)), repr(item)
place = get_converter().structure({"line": 1, "character": 2}, types.Position)
assert place == types.Position(1, 2) != types.Position(1, 3)
import attrs
@attrs.define
class Other:
    name: str
assert "seen" in repr(Other("seen"))
"""


def test_messages_cannot_be_printed_with_their_content() -> None:
    """And nothing else of theirs, or of other classes, is changed."""
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)
