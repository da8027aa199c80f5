"""A workspace that is closed while a thread still works for it."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carrel.server.jobs import Jobs
from carrel.server.settings import Settings
from carrel.server.wiring import Wiring
from carrel.server.workspace import Workspace


class SlowWiring(Wiring):
    """Opens an index when it is let."""

    def __init__(self) -> None:
        self.begun, self.gate, self.closed = threading.Event(), threading.Event(), threading.Event()

    def open_index(self, *_: object) -> Any:
        self.begun.set()
        self.gate.wait(10)
        return SimpleNamespace(store=SimpleNamespace(close=self.closed.set))


async def test_an_index_that_opens_too_late_is_closed_and_nobody_complains(tmp_path: Path) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    wiring = SlowWiring()
    workspace = Workspace(tmp_path, "file:///shop", settings=Settings(), wiring=wiring, jobs=Jobs())
    asked = asyncio.create_task(workspace.open())
    await asyncio.to_thread(wiring.begun.wait, 10)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await workspace.close()
    opening = asyncio.all_tasks() - {asyncio.current_task()}
    wiring.gate.set()
    await asyncio.wait(opening)
    assert wiring.closed.is_set()
    del workspace, asked, opening
    gc.collect()
    assert complaints == []
