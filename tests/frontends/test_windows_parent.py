"""Processes that are watched on Windows, where a launcher may stand between an editor and the interpreter."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from carrel.frontends.common import windows_parent

SCRIPT, VENV, BASE, EDITOR = "/venv/carrel", "/venv/python.exe", "/base/python.exe", "/editor.exe"
NOW = 100
"""When this process was made."""
Process = tuple[str, int, int]
"""Program, when it was made, and the number of its parent."""


def watched(
    monkeypatch: pytest.MonkeyPatch, parent: int, processes: Mapping[int, Process], *, error: int = 87
) -> list[int] | bool:
    """Return the processes that are waited for, or what is answered without waiting."""
    waited: list[int] = []

    def wait(handles: list[int]) -> bool:
        waited.extend(handles)
        return True

    monkeypatch.setattr(sys, "argv", [SCRIPT])
    monkeypatch.setattr(sys, "executable", VENV)
    monkeypatch.setattr(sys, "prefix", "/venv")
    monkeypatch.setattr(windows_parent, "_opened", lambda pid: pid if pid in processes else 0)
    monkeypatch.setattr(windows_parent, "_last_error", lambda: error)
    monkeypatch.setattr(windows_parent, "_began", lambda handle: NOW if handle < 0 else processes[handle][1])
    monkeypatch.setattr(windows_parent, "_image", lambda handle: processes[handle][0])
    monkeypatch.setattr(windows_parent, "_parent_of", lambda handle: processes[handle][2])
    monkeypatch.setattr(windows_parent, "_wait_for_any", wait)
    ended = windows_parent.wait_for_parent(parent)
    return waited or ended


@pytest.mark.skipif(sys.platform == "win32", reason="paths of another system stand in")
@pytest.mark.parametrize(
    ("parent", "processes", "expected"),
    [
        (7, {7: (EDITOR, 50, 6), 6: (EDITOR, 40, 1)}, [7]),
        (9, {9: (VENV, 90, 8), 8: (f"{SCRIPT}.exe", 80, 7), 7: (EDITOR, 50, 6), 6: (EDITOR, 40, 1)}, [9, 8, 7]),
        (9, {9: (VENV, 90, 8), 8: (BASE, 80, 7), 7: (EDITOR, 50, 6)}, [9, 8]),
        (9, {9: (f"{SCRIPT}.exe", 90, 8)}, True),  # only the launcher is left
        (7, {}, True),
        (7, {7: (EDITOR, 150, 6)}, True),  # its number is another's
        (8, {8: (f"{SCRIPT}.exe", 80, 7), 7: (EDITOR, 90, 6)}, True),
    ],
)
def test_the_parent_is_watched_and_who_started_a_launcher(
    monkeypatch: pytest.MonkeyPatch, parent: int, processes: Mapping[int, Process], expected: list[int] | bool
) -> None:
    assert watched(monkeypatch, parent, processes) == expected


def test_a_parent_that_may_not_be_watched_is_no_reason_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(monkeypatch, 7, {}, error=5) is False
    assert watched(monkeypatch, 9, {9: (VENV, 90, 8)}, error=5) == [9]
