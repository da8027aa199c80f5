"""The installed version of Carrel."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from carrel.model.installation import DISTRIBUTION

FROM_SOURCE = "0+source"
"""The version where Carrel isn't installed as a package: in a checkout, and inside an editor's extension."""


def carrel_version() -> str:
    """Return the installed version."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return FROM_SOURCE
