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

    try:
        code = run()
    except SystemExit as done:  # of --help and --version
        if isinstance(done.code, str):
            sys.stderr.write(f"{done.code}\n")
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
    return _leave(code)


def _leave(code: int) -> int:
    """End the process at once: taking its modules apart takes as long as a question. Return where a thread must be waited for."""
    import threading  # noqa: PLC0415 - as above

    from carrel.frontends.common.interrupts import leave  # noqa: PLC0415

    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        return code
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except OSError:
        return code  # Python itself says what it can't write
    leave(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
