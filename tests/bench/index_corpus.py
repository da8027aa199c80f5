"""A corpus of over a million lines in several languages, made from pinned packages of the public registries.

It lies in the user's cache folder, is made once, and is the same wherever it's made: every package has an exact version, and
nothing of a package is executed (wheels, source jars and archives are only unpacked). `python -m tests.bench.index_corpus`
makes it and prints what is in it.
"""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

PYPI = ("django==5.2.8", "sympy==1.14.0", "sqlalchemy==2.0.44")
CRATES = (
    "tokio=1.48.0",
    "regex-automata=0.4.13",
    "clap_builder=4.5.51",
    "rustls=0.23.35",
    "syn=2.0.110",
    "openssl-src=300.5.4+3.5.4",
)
NPM = ("effect@3.19.3", "three@0.181.1", "rxjs@7.8.2", "typeorm@0.3.27", "mathjs@15.1.0")
MAVEN = (
    "org.springframework:spring-core:6.2.12",
    "com.google.guava:guava:33.5.0-jre",
    "org.hibernate.orm:hibernate-core:7.1.7.Final",
    "org.jetbrains.kotlin:kotlin-stdlib:2.2.21",
    "org.scala-lang:scala-library:2.13.17",
)
GO = ("k8s.io/client-go@v0.34.1", "golang.org/x/tools@v0.39.0", "google.golang.org/grpc@v1.76.0")


def cache_folder() -> Path:
    """Where benchmarks keep what they download."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carrel-bench"


def corpus() -> Path:
    """Give the corpus, making what is missing of it; a registry whose client isn't installed is left out with a note."""
    root = cache_folder() / "corpus-1"
    makers: dict[str, tuple[str, tuple[str, ...], Callable[[tuple[str, ...], Path], None]]] = {
        "python": ("pip", PYPI, _pypi),
        "rust-and-c": ("cargo", CRATES, _crates),
        "typescript": ("npm", NPM, _npm),
        "jvm": ("mvn", MAVEN, _maven),
        "go": ("go", GO, _go),
    }
    for name, (program, packages, make) in makers.items():
        target = root / name
        if target.exists():
            continue
        if program != "pip" and shutil.which(program) is None:
            print(f"{program} is not installed: the corpus has no {name} part", file=sys.stderr)
            continue
        print(f"Getting the {name} part of the corpus …", file=sys.stderr)
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
            made = Path(scratch) / name
            made.mkdir()
            make(packages, made)
            made.rename(target)
    return root


def count_lines(root: Path) -> collections.Counter[str]:
    """Count lines by file suffix, of files up to 500 KB (larger ones aren't indexed either)."""
    lines: collections.Counter[str] = collections.Counter()
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= 500_000:
            lines[path.suffix or path.name] += path.read_bytes().count(b"\n")
    return lines


def _pypi(packages: tuple[str, ...], target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", scratch, *packages)
        for wheel in Path(scratch).glob("*.whl"):
            _unzip(wheel, target / wheel.name.split("-")[0])


def _crates(packages: tuple[str, ...], target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        (project / "src").mkdir()
        (project / "src" / "lib.rs").touch()
        wanted = dict(package.split("=") for package in packages)
        (project / "Cargo.toml").write_text(
            '[package]\nname = "corpus"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
            + "".join(f'{name} = {{ version = "={version}", default-features = false }}\n' for name, version in wanted.items())
        )
        _run("cargo", "vendor", "--quiet", "--versioned-dirs", "vendor", cwd=project)
        for name, version in wanted.items():
            shutil.move(project / "vendor" / f"{name}-{version}", target / name)


def _npm(packages: tuple[str, ...], target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        _run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", scratch, *packages)
        for archive in Path(scratch).glob("*.tgz"):
            _untar(archive, target / archive.stem)


def _maven(packages: tuple[str, ...], target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for package in packages:
            artifact = (f"-Dartifact={package}:jar:sources", f"-DoutputDirectory={scratch}")
            _run("mvn", "--batch-mode", "--quiet", "dependency:copy", *artifact)
        for jar in Path(scratch).glob("*.jar"):
            _unzip(jar, target / jar.stem)


def _go(packages: tuple[str, ...], target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "GOPATH": scratch, "GOFLAGS": "-modcacherw"}
        for package in packages:
            _run("go", "mod", "download", package, cwd=Path(scratch), environment=environment)
            folder = Path(scratch) / "pkg" / "mod" / package
            shutil.move(folder, target / package.split("@")[0].replace("/", "-"))


def _run(*command: str, cwd: Path | None = None, environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=cwd, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        file.extractall(target)  # noqa: S202 - ZipFile keeps members inside the target


def _untar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as file:
        file.extractall(target, filter="data")


if __name__ == "__main__":
    counts = count_lines(corpus())
    for suffix, number in counts.most_common(20):
        print(f"{suffix:>12} {number:>10,}")
    print(f"{'all':>12} {sum(counts.values()):>10,}  in {corpus()}")
