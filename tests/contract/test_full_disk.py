"""A disk that is full or can't be written: the server says so, keeps what it had, and answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a limit on file sizes stands in for a full disk; Windows has none")

CHILD = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from carrel.model.errors import StoreError
from carrel.model.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.model.types import Query
from tests.support.indexing import run_index_blocking
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import retrieve
from carrel.providers.local import bundled
root, index = map(Path, sys.argv[1:])
model = bundled()
def opened():
    return Store.open(str(index), str(root), embedder_id=model.spec.id, dim=model.spec.dim, walk=WalkOptions(), cut=CutOptions())
store = opened()
run_index_blocking(store, model, CancelToken())
before = store.snapshot().files
for n in range(400):
    (root / f"more_{n}.py").write_text(f"def added_{n}(value):\\n    return value + {n}\\n" * 20)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    report = run_index_blocking(store, model, CancelToken())
    print("failed", report.failed)
except StoreError as error:
    print("error", error)
print("files", store.snapshot().files >= before)
hits = retrieve(store.snapshot(), prepare_blocking(Query("verify the password"), model), CancelToken()).hits
print("hit", hits[0].chunk.path)
store.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
store = opened()
run_index_blocking(store, model, CancelToken())
print("afterwards", store.snapshot().files)
"""


def test_a_full_disk_loses_nothing_and_the_next_run_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "auth.py").write_text("def verify_password(user, password):\n    return check(user, password)\n")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(root), str(tmp_path / "index")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert "error" in told or int(told.get("failed", "0")) > 0, done.stdout
    assert told["files"] == "True"
    assert told["hit"] == "auth.py"
    assert told["afterwards"] == "401"
