"""`carrel` and `python -m carrel`, for where the script is not on PATH (git hooks, editors).

It imports nothing but `sys`: a Ctrl-C before `main` would show a traceback.
"""

import sys


def main() -> int:
    """Run the command line; Ctrl-C while it is still being loaded ends it as quietly as later."""
    try:
        from carrel.frontends.common.interrupts import leave_at_once  # noqa: PLC0415 - the point of this function

        leave_at_once()
        from carrel.frontends.common import parent_process  # noqa: F401, PLC0415 - takes the parent down, now
        from carrel.frontends.common.core_dumps import disable_core_dumps  # noqa: PLC0415 - after that

        disable_core_dumps()
    except KeyboardInterrupt:
        return 130
    from carrel.frontends.cli import main as run  # noqa: PLC0415 - after that

    return run()


if __name__ == "__main__":
    sys.exit(main())
