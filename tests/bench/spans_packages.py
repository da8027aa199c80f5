"""Pinned packages: sources fetched by each registry's ordinary client, and the labels of the span-labelled questions.

An archive is checked against its hash before it is unpacked, and kept in a cache outside the repository.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

LABELS = Path(__file__).parent / "spans"


class Answer(msgspec.Struct, frozen=True):
    """Lines that answer, 1-based and inclusive."""

    path: str
    start: int
    end: int


class Question(msgspec.Struct, frozen=True):
    """A question that a person may type, and all lines that answer it."""

    id: str
    question: str
    kind: str
    answers: tuple[Answer, ...]


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """A package of a registry; `without` names folders that no repository would hold."""

    package: str
    version: str
    registry: str
    sha256: str
    without: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """A name for its folder on any file system."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "+", f"{self.package}-{self.version}")


class Package(Pinned, frozen=True, kw_only=True):
    """A package as it was labelled."""

    language: str
    kept_aside: bool
    questions: tuple[Question, ...]


class FetchError(Exception):
    """A package can't be had; the text says why and what helps."""


def packages(folder: Path = LABELS) -> list[Package]:
    """All labels, by name. Raises `msgspec.DecodeError` for a file that isn't in the form."""
    return [msgspec.json.decode(path.read_bytes(), type=Package) for path in sorted(folder.glob("*.json"))]


def problems(package: Package, root: Path) -> list[str]:
    """What is wrong with the labels of a package whose sources lie in `root`: ranges that aren't there, or are blank."""
    found = []
    for question in package.questions:
        for answer in question.answers:
            place = f"{question.id}: {answer.path}:{answer.start}-{answer.end}"
            path = root / answer.path
            lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
            if not 1 <= answer.start <= answer.end <= len(lines):
                found.append(f"{place} is not in the package")
            elif not any(line.strip() for line in lines[answer.start - 1 : answer.end]):
                found.append(f"{place} is blank")
    return found


def sources(package: Pinned, cache: Path) -> Path:
    """Return the folder of a package's sources, fetched at the first call. Raises `FetchError`."""
    root = cache / package.folder
    if root.is_dir():
        return root
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        archive = _FETCH[package.registry](package, Path(work))
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != package.sha256:
            message = f"{package.package} {package.version} has another hash than the one that is pinned: {found}"
            raise FetchError(f"{message}. The registry gave another file; nothing can be measured with it.")
        unpacked = Path(work) / "unpacked"
        unpack(archive, unpacked, strip=package.registry != "maven")
        for name in package.without:
            shutil.rmtree(unpacked / name)
        unpacked.rename(root)
    return root


def unpack(archive: Path, target: Path, *, strip: bool) -> None:
    """Unpack a zip or tar archive; with `strip` without the one folder that holds everything."""
    inside = target.with_name("inside")
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(inside)  # noqa: S202 - checked by its hash
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(inside, filter="data")
    folder = inside
    if strip:
        # A Go module's folder has the slashes of its name.
        while "@" not in folder.name and len(children := list(folder.iterdir())) == 1 and children[0].is_dir():
            folder = children[0]
            if not archive.name.endswith(".zip"):
                break
    folder.rename(target)


def _pypi(package: Pinned, work: Path) -> Path:
    options = ["--quiet", "--no-deps", f"--no-binary={package.package}", "--dest", str(work)]
    _run([sys.executable, "-m", "pip", "download", *options, f"{package.package}=={package.version}"], package, work)
    return _only(work, "*.tar.gz", package)


def _npm(package: Pinned, work: Path) -> Path:
    _run(["npm", "pack", "--silent", "--ignore-scripts", f"{package.package}@{package.version}"], package, work)
    return _only(work, "*.tgz", package)


def _crates(package: Pinned, work: Path) -> Path:
    (work / "src").mkdir()
    (work / "src" / "lib.rs").touch()
    wanted = f'{package.package} = {{ version = "={package.version}", default-features = false }}'
    head = '[package]\nname = "corpus"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
    (work / "Cargo.toml").write_text(f"{head}{wanted}\n")
    _run(["cargo", "fetch", "--quiet"], package, work)
    home = Path(os.environ.get("CARGO_HOME", "~/.cargo")).expanduser()
    return _only(home / "registry" / "cache", f"*/{package.package}-{package.version}.crate", package)


def _go(package: Pinned, work: Path) -> Path:
    told = _run(["go", "mod", "download", "-json", f"{package.package}@{package.version}"], package, work)
    return Path(json.loads(told)["Zip"])


def _maven(package: Pinned, work: Path) -> Path:
    artifact = f"-Dartifact={package.package}:{package.version}:jar:sources"
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    _run(["mvn", "-q", "-B", goal, artifact, f"-DoutputDirectory={work}"], package, work)
    return _only(work, "*-sources.jar", package)


def _debian(package: Pinned, work: Path) -> Path:
    _run(["apt-get", "download", f"{package.package}={package.version}"], package, work)
    files = work / "files.tar"
    _run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$0" > "$1"', str(_only(work, "*.deb", package)), str(files)], package, work)
    return files


def _debian_source(package: Pinned, work: Path) -> Path:
    try:
        _run(["apt-get", "source", "--download-only", "-qq", f"{package.package}={package.version}"], package, work)
    except FetchError as error:
        raise FetchError(f"{error} Sources of Debian need `deb-src` in apt's list: see sources.list(5).") from None
    return _only(work, "*.orig.tar.*[!c]", package)  # no signature


_FETCH = {
    "pypi": _pypi,
    "npm": _npm,
    "crates": _crates,
    "go": _go,
    "maven": _maven,
    "debian": _debian,
    "debian-source": _debian_source,
}


def _run(command: Sequence[str], package: Pinned, work: Path) -> str:
    """Run a registry's client and return what it prints."""
    program = shutil.which(command[0])
    wanted = f"{package.package} {package.version} can't be fetched"
    if program is None:
        raise FetchError(f"{wanted}: {command[0]} is not installed. Install it, or leave the package out by --only.")
    try:
        done = subprocess.run([program, *command[1:]], cwd=work, text=True, capture_output=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        raise FetchError(f"{wanted}: {command[0]} took longer than 10 minutes. Is the registry reachable?") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip())[-300:]
        raise FetchError(f"{wanted}: {command[0]} failed. Is the registry reachable? It said: {last}")
    return done.stdout


def _only(folder: Path, pattern: str, package: Pinned) -> Path:
    found = sorted(folder.glob(pattern))
    if not found:
        raise FetchError(f"{package.package} {package.version} was not among what its registry's client fetched ({pattern}).")
    return found[0]
