"""`carrel` and `python -m carrel`, for where the script is not on PATH (git hooks, editors)."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; Ctrl-C while it is still being loaded ends it as quietly as later."""
    try:
        from carrel.frontends.cli import main as run  # noqa: PLC0415 - the point of this function

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
