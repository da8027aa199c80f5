"""`python -m carrel`: the command line where the `carrel` script is not on PATH (git hooks, editors)."""

from __future__ import annotations

import sys

from carrel.frontends.cli import main

if __name__ == "__main__":
    sys.exit(main())
