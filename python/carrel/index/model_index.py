"""The indexes of remote models: folders inside the workspace's index folder, one for each model, beside the bundled model's own.

So the bundled model's index goes on answering while another is filled, a kill in between leaves both as they were, and going back
costs a comparison with the files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

KEEP_UNUSED_SECONDS = 30 * 24 * 3600
"""A model's index is deleted after 30 days in which nobody opened it."""
_PREFIX = "model-"
_ABOUT = "model.json"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Where the index of one model is."""

    directory: Path
    model: str

    @property
    def dim(self) -> int:
        """Return the dimension that was written there, 0 where none was."""
        try:
            about = json.loads((self.directory / _ABOUT).read_text("utf-8"))
            dim = about["dim"] if about["id"] == self.model else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return dim if type(dim) is int and dim > 0 else 0

    @property
    def exists(self) -> bool:
        """Tell whether an index was begun there."""
        return self.dim > 0

    def prepare(self, dim: int) -> None:
        """Make the folder, and note the model and this use. Raises `OSError`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        about = self.directory / _ABOUT
        if self.dim == dim:
            os.utime(about)  # its time is the last use
        else:
            about.write_text(json.dumps({"id": self.model, "dim": dim}), "utf-8")


def folder_of(home: Path, model: str) -> ModelFolder:
    """Return where a model's index is below a workspace's index folder."""
    digest = hashlib.blake2b(model.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    label = re.sub(r"[^a-z0-9.]+", "-", model.lower())[:40].strip("-.")
    return ModelFolder(home / f"{_PREFIX}{label}-{digest}", model)


def others(home: Path, used: Path | None = None) -> list[Path]:
    """List the folders of models below a workspace's index folder, but the one that is used."""
    return sorted(path for path in home.glob(f"{_PREFIX}*") if path.is_dir() and not path.is_symlink() and path != used)


def clean_up(home: Path, used: Path, *, now: float | None = None) -> list[Path]:
    """Delete indexes of models that nobody opened for 30 days; return those deleted."""
    now = time.time() if now is None else now
    deleted = []
    for path in others(home, used):
        with contextlib.suppress(OSError):  # not ours, or another process is at it
            if now - (path / _ABOUT).stat().st_mtime > KEEP_UNUSED_SECONDS:
                shutil.rmtree(path)
                deleted.append(path)
    return deleted
