"""Where the recipe keeps its files: all under $CARREL_TRAINING, nothing in the repository."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent
WORK = Path(os.environ.get("CARREL_TRAINING", "~/.cache/carrel-training")).expanduser()
PACKAGES = WORK / "packages"
