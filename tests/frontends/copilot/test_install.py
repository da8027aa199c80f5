"""The proxy's command writes only files of its own."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.frontends.copilot.conftest import STAND_IN, Client


def test_install_writes_only_its_own_files_and_takes_them_back(tmp_path: Path, env: dict[str, str]) -> None:
    real = tmp_path / "copilot-language-server"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "carrel", "copilot-proxy", "--real", str(real), *words]
        return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)

    assert run("install", "neovim").returncode == 0
    plugin = Path(env["XDG_CONFIG_HOME"]) / "nvim/plugin/carrel_copilot.vim"
    launcher = Path(env["XDG_DATA_HOME"]) / "carrel/copilot-launcher"
    assert str(launcher) in plugin.read_text()
    assert subprocess.run([launcher, "--stdio"], env={**os.environ, **env}, stdin=subprocess.DEVNULL, check=False).returncode == 0
    assert run("uninstall", "neovim").returncode == 0
    assert not plugin.exists()
    assert not launcher.exists()
    options = ("--top-k", "3", "--no-tool", "--workspace", str(tmp_path), "--mode", "references")
    assert run(*options, "install", "neovim").returncode == 0
    line = launcher.read_text().splitlines()[-1]
    assert f"--mode references --deadline-ms 300 --top-k 3 --no-tool --workspace {tmp_path} -- {real}" in line
    plugin.write_text("mine")
    assert run("install", "neovim").returncode == 1
    assert plugin.read_text() == "mine"
    assert run("install", "zed").returncode == 1


def test_eclipse_gets_a_launcher_for_node(tmp_path: Path, env: dict[str, str], record: Path) -> None:
    """As Copilot for Eclipse starts it: `node --inspect LAUNCHER --stdio`."""
    if not shutil.which("node"):
        pytest.skip("Node.js isn't installed")
    real = tmp_path / "copilot-language-server"
    real.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "{record}"\n')
    real.chmod(0o755)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "carrel", "copilot-proxy", "--mode", "off", "--real", str(real), *words]
        return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)

    launcher = Path(env["XDG_DATA_HOME"]) / "carrel/copilot-launcher.js"
    assert f"COPILOT_LS_JS_PATH={launcher}" in run("install", "eclipse").stdout
    client = Client(["node", "--inspect=127.0.0.1:0", str(launcher), "--stdio"], env)
    try:
        assert client.request(1, "ping", {})["result"] == {"method": "ping"}
        assert client.process.stderr
        found = re.search(rb"ws://127\.0\.0\.1:(\d+)/", os.read(client.process.stderr.fileno(), 10_000))
        assert found
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(found[1])), 1)
        assert client.end()[0] == 3
    finally:
        client.kill()
    assert str(launcher) in run("uninstall", "eclipse").stdout
    assert not launcher.exists()
