"""A machine that fails, as one with too many open files does, takes no file out of the index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no limit on a process's open files", allow_module_level=True)

import resource

from tests.shop import write_files

FILES = {f"folder{number}/part{number}.py": f"def part_{number}():\n    return {number}\n" for number in range(40)}

SCRIPT = """
import os, resource, sys
from pathlib import Path

from carrel.model.errors import StoreError
from carrel.model.native import CancelToken
from carrel.composition.composition import Composition
from carrel.upkeep.index_jobs import IndexRunner
from carrel.system.jobs import Work
from carrel.settings.settings_files import settings_of

root = Path(sys.argv[1])
composition, settings = Composition(), settings_of(root)[0]
index = composition.open_index(root, settings)
run = lambda **more: IndexRunner().run_blocking(index, Work(full=True, **more), CancelToken(), lambda *_: None)
run()
before = index.store.index_state()
hardest = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
lowest = os.open(os.devnull, os.O_RDONLY)  # every number below it is in use
os.close(lowest)
failed = 0
for spare in range(12):
    for more in ({}, {"force": True}):
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + spare, hardest))
        try:
            report = run(**more)
        except StoreError as error:
            failed += 1
            assert "Too many open files" in str(error) or "unable to open database file" in str(error), error
            assert "folder is gone" not in str(error), error
        else:
            assert (report.removed, report.failed) == (0, 0), (spare, report)
        refused = index.store.refusal("folder1/part1.py")
        assert refused is None or refused.startswith("read failed: Too many open files"), refused
        view = index.store.snapshot()
        docs = list(range(view.chunks))
        for read in view.read_current(docs, CancelToken()):
            assert not isinstance(read, str) or "read failed: Too many open files" in read, read
        resource.setrlimit(resource.RLIMIT_NOFILE, (hardest if hardest != resource.RLIM_INFINITY else 4096, hardest))
        assert [(path, ids) for path, _, ids in index.store.index_state()] == [(path, ids) for path, _, ids in before], spare
        assert not index.store.skipped(), index.store.skipped()
assert failed, "the limit was never met"
run()
assert [path for path, _, _ in index.store.index_state()] == [path for path, _, _ in before]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path / "ws", FILES)


def test_a_run_that_meets_the_limit_fails_and_keeps_everything(project: Path, env: dict[str, str]) -> None:
    command = [sys.executable, "-c", SCRIPT, str(project)]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_command_line_says_what_failed_and_how_to_mend_it(project: Path, env: dict[str, str]) -> None:
    def carrel(*words: str, limit: int = 0) -> tuple[int, str, str]:
        def lower() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        start: Callable[[], None] | None = lower if limit else None
        command = [sys.executable, "-m", "carrel", *words]
        done = subprocess.run(
            command, cwd=project, env={**os.environ, **env}, capture_output=True, text=True, preexec_fn=start, check=False
        )
        return done.returncode, done.stdout, done.stderr

    assert carrel("index")[0] == 0
    met = False
    for limit in range(4, 16):
        code, _, err = carrel("index", limit=limit)
        assert code == 0 or "Traceback" not in err or limit < 6, (limit, err)
        met = met or (code == 1 and "can't read" in err and "Too many open files" in err and "ulimit -n" in err)
        assert f"ready: {len(FILES)} files" in carrel("status")[1]
        if code == 0:
            break
    assert met
