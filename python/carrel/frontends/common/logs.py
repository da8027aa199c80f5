"""Logs go to stderr and to the editor, and hold no content: pygls's own, which would, are off."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
_LSP_TYPES = ((logging.ERROR, 1), (logging.WARNING, 2), (logging.INFO, 3))


class EditorHandler(logging.Handler):
    """Passes records on as `window/logMessage`."""

    def __init__(self, send: Callable[[int, str], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; a fault in sending is nobody's concern."""
        kind = next((kind for level, kind in _LSP_TYPES if record.levelno >= level), 4)
        try:
            self._send(kind, self.format(record))
        except Exception:
            self.handleError(record)


def start() -> None:
    """Log to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("carrel")
    root.handlers = [handler]
    root.propagate = False
    set_level("info")
    for name in ("pygls", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.raiseExceptions = False


def set_level(level: str) -> None:
    """Set how much is logged."""
    logging.getLogger("carrel").setLevel(_LEVELS[level])


def to_editor(send: Callable[[int, str], None]) -> None:
    """Log to the editor as well; `send` gets LSP's message type and the text, on any thread."""
    logging.getLogger("carrel").addHandler(EditorHandler(send))
