"""Torture real servers for a while: `python -m tests.torture --minutes 60`. Fails when a promise is broken."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.lsp_client import SERVER
from tests.shop import environment
from tests.torture.scenarios import SCENARIOS, Arena
from tests.torture.workload import Workload, Wrong

FAULTY = (sys.executable, "-m", "tests.torture.faulty_server")


def run(name: str, seconds: float, seed: int, program: tuple[str, ...]) -> bool:
    """Run one scenario; tell what was done, and whether all went well."""
    with tempfile.TemporaryDirectory(prefix="carrel-torture-") as scratch:
        folder = Path(scratch)
        env = {**environment(folder / "home"), "PYTHONPATH": f"{Path.cwd()}:{Path.cwd() / 'python'}"}
        (folder / "home" / "XDG_CONFIG_HOME" / "carrel").mkdir()
        settings = folder / "home" / "XDG_CONFIG_HOME" / "carrel" / "settings.toml"
        settings.write_text(f"cacheFolder = {str(folder / 'cache')!r}\n")
        work = Workload(folder / "project", random.Random(f"{name} {seed}"), env)  # noqa: S311 - the same in every run
        arena = Arena(work, folder / "cache", program, time.monotonic() + seconds)
        try:
            asyncio.run(SCENARIOS[name](arena))  # type: ignore[arg-type]  # each is a coroutine function
            error = ""
        except Exception as failed:
            error = f"{type(failed).__name__}: {failed}"
            if not isinstance(failed, Wrong):
                sys.excepthook(type(failed), failed, failed.__traceback__)
    for done in arena.trail[-6:] if error else ():
        print(f"  {done}")
    print(f"{name}: {arena.rounds} rounds, {arena.asked} answers compared, {error or arena.note or 'all right'}", flush=True)
    return not error


def main() -> int:
    """Read the arguments, run every scenario for its share of the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="run this one (repeatable)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", action="store_true", help="run a server with a planted fault, which must be found")
    arguments = parser.parse_args()
    chosen = arguments.only or list(SCENARIOS)
    seconds = 60 * arguments.minutes / len(chosen)
    print(f"{arguments.minutes:g} minutes, seed {arguments.seed}", flush=True)
    results = [run(name, seconds, arguments.seed, FAULTY if arguments.fault else SERVER) for name in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
