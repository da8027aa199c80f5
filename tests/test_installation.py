"""Messages about packages that are missing: those of others by name, Carrel from where it came."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from carrel.model import installation
from carrel.model.installation import how_to_install, how_to_reinstall

PROJECT: Any = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
PIP = f'"{sys.executable}" -m pip install '


def quoted(packages: list[str]) -> str:
    return " ".join(f'"{package}"' for package in packages)


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("extra", [*PROJECT["optional-dependencies"], ""])
def test_what_an_extra_needs_is_named_by_its_packages(extra: str, installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not installed:  # in an editor's extension and in a checkout that wasn't installed
        monkeypatch.setattr(installation, "DISTRIBUTION", "a-package-that-is-not-there")
    packages = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    assert how_to_install(*([extra] if extra else [])) == PIP + quoted(packages)


def test_without_metadata_and_checkout_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installation, "DISTRIBUTION", "a-package-that-is-not-there")
    monkeypatch.setattr(installation, "_CHECKOUT", tmp_path)
    assert how_to_install("mcp") == "install what pyproject.toml of Carrel's source names under mcp"
    assert how_to_reinstall() == PIP + "--force-reinstall /path/to/the/wheel/or/checkout"


@pytest.mark.skipif(sys.platform == "win32", reason="the path of a URL looks otherwise there")
def test_carrel_is_installed_again_from_the_file_that_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed:
        def read_text(self, name: str) -> str:
            return json.dumps({"url": "file:///home/me/my%20wheels/a.whl"}) if name == "direct_url.json" else ""

    monkeypatch.setattr(metadata, "distribution", lambda _: Installed())
    assert how_to_reinstall() == PIP + '--force-reinstall "/home/me/my wheels/a.whl"'
