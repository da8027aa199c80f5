"""Crashes leave no image of the memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carrel.frontends.common import core_dumps


@pytest.mark.skipif(sys.platform != "linux", reason="SKIPPED: /proc is Linux's")
@pytest.mark.parametrize("command", [["carrel", "serve"], ["carrel.frontends.lsp.serve"]])
def test_servers_have_no_core_dumps_however_they_are_started(command: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin
    assert process.stdout
    with process:
        body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"Content-Length")
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        process.stdin.close()
        process.stdout.read()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    assert line.split()[4:6] == ["0", "0"]


def test_windows_is_asked_for_no_dialog_and_no_heap() -> None:
    asked: list[Any] = []
    kernel = SimpleNamespace(GetErrorMode=lambda: 4, SetErrorMode=asked.append)
    core_dumps._quiet(SimpleNamespace(kernel32=kernel, wer=SimpleNamespace(WerSetFlags=asked.append)))
    core_dumps._quiet(SimpleNamespace())  # an old Windows has no such library
    assert asked == [0x8007, 1]
