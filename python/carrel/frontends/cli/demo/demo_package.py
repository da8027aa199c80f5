"""What the demo indexes when no folder is named: a well-known package, the same for everyone."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

NAME, VERSION = "django", "5.2.8"
PACKAGE_QUESTION = "where is the CSRF token checked on a POST request?"
LIBRARY_QUESTION = "how is a redirect followed when a URL is opened?"
_REQUIREMENT = f"{NAME}=={VERSION} --hash=sha256:37e687f7bd73ddf043e2b6b97cfe02fcbb11f2dbb3adccc6a2b18c6daa054d7f\n"


def package(note: Callable[[str], None]) -> tuple[Path, str]:
    """Give the package's folder in the user's cache, got from PyPI once, and a question; without a network, Python's own library.

    A wheel holds the sources as they are and, unlike a source archive, is unpacked without running anything of it.
    """
    from platformdirs import user_cache_path

    target = user_cache_path("carrel", appauthor=False) / "demo" / f"{NAME}-{VERSION}"
    if target.is_dir():
        return target, PACKAGE_QUESTION
    began = time.perf_counter()
    note(f"Getting {NAME} {VERSION} from PyPI, to have something to index …")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            unpacked = _download(Path(scratch))
            unpacked.rename(target)
    except (OSError, subprocess.SubprocessError, zipfile.BadZipFile):
        library = Path(sysconfig.get_path("stdlib"))
        note(f"{NAME} can't be had (no network, or no pip here?); Python's own library at {library} is indexed instead.")
        return library, LIBRARY_QUESTION
    note(f"Got it in {time.perf_counter() - began:.1f} s; it is kept in {target}")
    return target, PACKAGE_QUESTION


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
        "--retries=1",  # without a network there is something else to index
        "--timeout=10",
    )
    pip = (sys.executable, "-m", "pip", "download", *options)
    subprocess.run(pip, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=120)  # noqa: S603 - our own interpreter
    unpacked = scratch / "unpacked"
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as archive:
        archive.extractall(unpacked)
    return unpacked
