"""Check that nothing is sent that no setting names: every front end at work, watched from inside and cut off from outside.

Where the system makes no network namespace (Linux's unshare), and in `make test-long`, it also runs with a network.
"""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.long import LONG

FRONT_ENDS = Path(__file__).with_name("front_ends.py")
RECORDER = """
import os, sys

def note(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        to = arguments[1]
    elif event == "socket.getaddrinfo":
        to = arguments[:2]
    else:
        return
    line = f"{event}\\t{to[0] if isinstance(to, tuple) else 'local'}\\t{os.getpid()}\\n"
    record = os.open(os.environ["CARREL_TEST_CONNECTIONS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(record, line.encode())
    os.close(record)

sys.addaudithook(note)
"""


def is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("local", "localhost", "None", "")


def has_namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


HOW = {has_namespaces(), has_namespaces() and not LONG}


@pytest.mark.parametrize("alone", HOW, ids=lambda alone: "without a network" if alone else "with one")
def test_every_front_end_works_and_none_tries_to_reach_another_machine(
    tmp_path_factory: pytest.TempPathFactory, alone: bool
) -> None:
    work, beside = tmp_path_factory.mktemp("a"), tmp_path_factory.mktemp("b")  # a socket's path has about a hundred bytes
    (beside / "sitecustomize.py").write_text(RECORDER, "utf-8")
    paths = os.pathsep.join(filter(None, (str(beside), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "CARREL_TEST_CONNECTIONS": str(beside / "connections")}
    command = [sys.executable, str(FRONT_ENDS), str(work)]
    if alone:
        command = ["unshare", "--map-root-user", "--net", *command, "--alone"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    seen = [line.split("\t") for line in (beside / "connections").read_text("utf-8").splitlines()]
    elsewhere = [(event, host) for event, host, _ in seen if not is_here(host)]
    reported: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if alone else {"on purpose": [], "by Carrel": 0}
    assert bool(elsewhere) == alone, "what is tried on purpose is seen"
    assert {host for _, host in elsewhere} <= set(reported["on purpose"]), elsewhere
    assert len({process for event, _, process in seen if event == "socket.connect"}) >= 2, "the proxy's connection was seen too"
    assert reported["by Carrel"] == 0
