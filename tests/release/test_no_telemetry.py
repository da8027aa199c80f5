"""Nothing is sent that no setting names: every front end at work, watched from inside and cut off from outside."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_no_front_end_connects_to_another_machine(tmp_path: Path) -> None:
    recorder, record = tmp_path / "recorder", tmp_path / "connections"
    recorder.mkdir()
    (recorder / "sitecustomize.py").write_text(RECORDER, "utf-8")
    paths = os.pathsep.join(filter(None, (str(recorder), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "CARREL_TEST_CONNECTIONS": str(record)}
    work = tmp_path / "w"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, FRONT_ENDS, work], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = [line.split("\t") for line in record.read_text("utf-8").splitlines()]
    assert [(event, host) for event, host, _ in seen if not is_here(host)] == []
    assert len({process for event, _, process in seen if event == "socket.connect"}) >= 2, "the proxy's connection was seen too"


def has_namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not has_namespaces(), reason="this system makes no network namespace (Linux's unshare)")
def test_every_front_end_works_without_a_network_and_none_tries_to_reach_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    work = tmp_path_factory.mktemp("a")  # a socket's path has about a hundred bytes
    command = ["unshare", "--map-root-user", "--net", sys.executable, str(FRONT_ENDS), str(work), "--alone"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["by Carrel"] == 0
