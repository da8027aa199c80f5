"""Replace a file in one step: whoever reads it meanwhile, and a kill at any moment, leave it whole, old or new."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

OWNER_ONLY = 0o600


def replace_file(path: Path, content: bytes, *, mode: int = OWNER_ONLY) -> None:
    """Write a file by way of a new one beside it, which is on the disk before it takes the name. Raises `OSError`.

    A link at `path` is replaced, not followed.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode != OWNER_ONLY:  # what it was made with
            Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
