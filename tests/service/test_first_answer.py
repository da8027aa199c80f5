"""A question about a large folder is answered before its first index is whole."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from carrel.composition.composition import Composition
from carrel.frontends.mcp.tools import notes
from carrel.index.workspace_state import FolderSettings
from carrel.model.types import Query
from carrel.service import answering_index, queries
from carrel.service.workspace import Workspace
from carrel.settings.settings import Settings
from carrel.system.jobs import Jobs
from carrel.upkeep.index_jobs import IndexRunner

FILES = 80
BYTES = 60_000


class HeldAfterTheFirstBatch(IndexRunner):
    """Commits one batch, then waits until it is let go on."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def run(self, index: Any, work: Any, token: Any, progress: Any, native: Any) -> Any:
        told: list[int] = []

        def held(done: int, total: int, at: str) -> None:
            progress(done, total, at)
            told.append(done)
            if len(told) == 3:  # nothing is done, a batch, the next one
                self.gate.wait(60)

        return await super().run(index, work, token, held, native)


async def test_what_a_question_is_about_answers_before_the_first_index_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering_index, "_WHOLE_SECONDS", 0.0)
    root = tmp_path / "large"
    root.mkdir()
    for number in range(FILES):
        lines = "".join(f"def unlike_{number}_{line}():\n    return {line}\n\n\n" for line in range(BYTES // 40))
        (root / f"a{number:03}.py").write_text(lines)
    (root / "z.py").write_text("def rotate_the_signing_secret(session):\n    return session.renew()\n")
    runner = HeldAfterTheFirstBatch()
    folder = FolderSettings(Settings(cache_folder=str(tmp_path / "cache")))
    large = Workspace(root, root.as_uri(), folder=folder, composition=Composition(), jobs=Jobs(), runner=runner)
    try:
        found = await queries.search(large, Query("how is the signing secret rotated", 3), 60_000)
        assert found.hits[0].chunk.path == "z.py"
        assert large.queue.busy
        assert f"of {FILES + 1} files are in the index" in (found.diagnostics.problem or "")
        runner.gate.set()
        for _ in range(600):
            if not large.queue.busy:
                break
            await asyncio.sleep(0.05)
        assert notes(large) == ()
        whole = await queries.search(large, Query("how is the signing secret rotated", 3), 60_000)
        assert whole.hits[0].chunk.path == "z.py"
        assert whole.diagnostics.problem is None
    finally:
        runner.gate.set()
        await large.close()
