"""Emacs' eglot gets Carrel's answers by standard requests only: nothing is tied to our own clients."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shop import AUTH, write_files

SCRIPT = Path(__file__).with_name("eglot.el")


def _emacs() -> str:
    emacs = shutil.which("emacs")
    look = '(progn (require \'package) (package-initialize) (kill-emacs (if (locate-library "eglot") 0 1)))'
    if emacs and subprocess.run([emacs, "--batch", "--eval", look], capture_output=True, check=False).returncode == 0:
        return emacs
    pytest.skip("Emacs with eglot is not installed (Debian: apt-get install emacs-nox; Debian 12 also: elpa-eglot): not tested")


def test_eglot_searches_and_gets_context_with_unsaved_text(tmp_path: Path, env: dict[str, str]) -> None:
    emacs = _emacs()
    file = write_files(tmp_path / "shop", {"src/auth.py": AUTH}) / "src/auth.py"
    done = subprocess.run(
        [emacs, "--batch", "-l", str(SCRIPT), sys.executable, str(file)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["paths"] == ["src/auth.py"]
    assert "authenticate_user" in result["before"]
    assert "moonlight" not in result["before"]
    assert "moonlight" in result["after"]
    assert file.read_text("utf-8") == AUTH
