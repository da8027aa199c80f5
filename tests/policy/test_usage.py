"""The count of what remote services were asked."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest

from carrel.model.outbound import Destination, Load
from carrel.policy.usage import Limits, Usage, UsageMeter

WHERE = Destination("openai", "api.openai.com")


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_counted_later_is_no_second_request(tmp_path: Path, kept: bool) -> None:
    meter = UsageMeter(tmp_path / "usage.sqlite" if kept else None, Limits)
    meter.record(WHERE, Load(texts=2, characters=40, tokens=10, dollars=0.5))
    meter.record(WHERE, Load(tokens=5, dollars=0.25, requests=0))
    assert meter.total(WHERE) == Usage(requests=1, texts=2, characters=40, tokens=15, dollars=0.75)
    meter.close()


def test_what_another_process_writes_at_the_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    meter = UsageMeter(path, Limits)
    meter.record(WHERE, Load(tokens=10))
    meter.close()
    with contextlib.closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        threading.Timer(0.5, other.commit).start()
        assert meter.total(WHERE).tokens == 10
