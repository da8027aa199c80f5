"""The version that is installed, and commands that install a missing package for the Python that runs Carrel.

Packages of others are named as Carrel's own metadata names them. Carrel itself is never installed by its name: nobody holds it
on a package registry (docs/publishing.md), and who takes it would run code here.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "carrel-context"
_CHECKOUT = Path(__file__).parents[3]
FROM_SOURCE = "0+source"
"""The version where Carrel isn't installed as a package: in a checkout, and inside an editor's extension."""


def carrel_version() -> str:
    """Return the installed version."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return FROM_SOURCE


def how_to_install(*extras: str) -> str:
    """Return the command that installs what these extras need; without one, what Carrel always needs."""
    packages = [text for extra in extras or ("",) for text in _requirements(extra)]
    if not packages:
        return f"install what pyproject.toml of Carrel's source names under {', '.join(extras) or 'dependencies'}"
    return _pip(*(f'"{package}"' for package in packages))


def how_to_reinstall() -> str:
    """Return the command that installs Carrel again from the wheel or checkout that it came from."""
    try:
        came = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        came = {}
    parts = urlsplit(str(came.get("url", "")))
    path = unquote(parts.path) if parts.scheme == "file" else ""
    if sys.platform == "win32":
        path = path.lstrip("/")
    return _pip("--force-reinstall", f'"{path}"' if path else "/path/to/the/wheel/or/checkout")


def _pip(*arguments: str) -> str:
    return " ".join((f'"{sys.executable}"', "-m", "pip", "install", *arguments))


def _requirements(extra: str) -> list[str]:
    """Return the requirements of an extra, or those of no extra, as Carrel's metadata or its checkout states them."""
    try:
        stated = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return _of_checkout(extra)
    parted = [(text.strip(), marker) for text, _, marker in (line.partition(";") for line in stated)]
    named = [(text, match[1] if (match := re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)) else "") for text, marker in parted]
    return [text for text, of in named if of == extra]


def _of_checkout(extra: str) -> list[str]:
    import tomllib  # noqa: PLC0415 - only for a message

    try:
        project = tomllib.loads((_CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
        return list(project["optional-dependencies"].get(extra, ()) if extra else project["dependencies"])
    except (OSError, ValueError, KeyError):
        return []
