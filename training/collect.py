"""Fetch the packages that the model learns from, through each registry's ordinary client.

`python -m training.collect` reads packages.json (names, chosen by hand) and `packages.lock.json` (the versions
that were taken last time, with their licences) and leaves one folder of sources per package under
$CARREL_TRAINING/packages. A package whose licence isn't on the allow-list is dropped, and so is every package that
belongs to a project of the retrieval benchmark or does the same thing as one. Names that a registry doesn't know
are reported and skipped.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from training.licences import allowed, licence_of_folder
from training.places import HERE, PACKAGES, WORK
from training.relatives import is_relative

LOCK = HERE / "packages.lock.json"


@dataclass(frozen=True, slots=True)
class Package:
    """One package as it was taken."""

    registry: str
    name: str
    version: str
    licence: str


def folder_name(name: str) -> str:
    """Return a package's name as that of a folder, with a + for what isn't in most names; the lock has Go's modules so."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "+", name)


def listed() -> list[dict[str, str]]:
    """Return the packages that were taken last time."""
    return json.loads(LOCK.read_text()) if LOCK.exists() else []


def run(command: list[str], cwd: Path, timeout: int = 900) -> subprocess.CompletedProcess[str]:
    """Run a registry's client at low priority."""
    return subprocess.run(["nice", "-n", "15", *command], cwd=cwd, text=True, capture_output=True, timeout=timeout, check=False)


def in_groups(names: list[str], size: int, fetch: object) -> None:
    """Fetch names in groups; a group that fails is taken one by one, so that one unknown name costs only itself."""
    for start in range(0, len(names), size):
        group = names[start : start + size]
        if not fetch(group) and len(group) > 1:  # type: ignore[operator]
            for name in group:
                if not fetch([name]):  # type: ignore[operator]
                    print("not to be had:", name, file=sys.stderr)


def unpack(archive: Path, target: Path) -> None:
    """Unpack a zip, wheel, jar, gem-like or tar archive."""
    target.mkdir(parents=True, exist_ok=True)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(target)
    else:
        with tarfile.open(archive) as packed:  # the filter refuses what leaves the folder
            packed.extractall(target, filter="data")


def pins(registry: str) -> dict[str, str]:
    """Return the names of one registry with the version taken last time, or nothing."""
    versions = {folder_name(p["name"]): p["version"] for p in listed() if p["registry"] == registry}
    names = json.loads((HERE / "packages.json").read_text())[registry]
    return {name: versions.get(folder_name(name), "") for name in names}


def pypi(names: dict[str, str]) -> None:
    """Wheels of the named packages, without what they depend on."""
    work = WORK / "pypi"
    work.mkdir(parents=True, exist_ok=True)
    specs = [f"{name}=={version}" if version else name for name, version in names.items()]
    base = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(work)]
    in_groups(specs, 25, lambda group: run([*base, *group], work).returncode == 0)
    for wheel in sorted(work.glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        target = PACKAGES / "pypi" / name.lower().replace("_", "-")
        if not target.exists():
            unpack(wheel, target)
            (target / ".version").write_text(version)


def npm(names: dict[str, str]) -> None:
    """Tarballs of the named packages."""
    work = WORK / "npm"
    work.mkdir(parents=True, exist_ok=True)
    specs = [f"{name}@{version}" if version else name for name, version in names.items()]
    in_groups(specs, 20, lambda group: run(["npm", "pack", "--silent", "--ignore-scripts", *group], work).returncode == 0)
    for tarball in sorted(work.glob("*.tgz")):
        target = PACKAGES / "npm" / re.sub(r"-\d+\.\d+.*$", "", tarball.stem)
        if not target.exists():
            unpack(tarball, target)


def crates(names: dict[str, str]) -> None:
    """Return the named crates and what they depend on: as the lock lists all of these, or as cargo resolves what it lacks."""
    work = WORK / "crates"
    (work / "src").mkdir(parents=True, exist_ok=True)
    (work / "src" / "lib.rs").write_text("")
    wanted = [(p["name"], "=" + p["version"]) for p in listed() if p["registry"] == "crates"]
    wanted += [(name, "*") for name, version in names.items() if not version]
    for _ in range(40):
        lines = [  # an alias each: the lock has several versions of some
            f'c{number} = {{ package = "{name}", version = "{version}", default-features = false }}'
            for number, (name, version) in enumerate(wanted)
        ]
        manifest = ["[package]", 'name = "corpus"', 'version = "0.0.0"', 'edition = "2021"', "[dependencies]", *lines]
        (work / "Cargo.toml").write_text("\n".join(manifest) + "\n")
        result = run(["cargo", "vendor", "--quiet", "--versioned-dirs", str(PACKAGES / "crates")], work, 1800)
        if result.returncode == 0:
            return
        # Drop what can't be resolved (an unknown name, or two crates that link the same library) and try again.
        known = {name for name, _ in wanted}
        bad = next((n for n in re.findall(r"`([A-Za-z0-9_-]+)", result.stderr) if n in known), None)
        print("crates:", result.stderr.strip().splitlines()[:6], "-> without", bad, file=sys.stderr)
        if bad is None:
            return
        wanted = [(name, version) for name, version in wanted if name != bad]


def go(names: dict[str, str]) -> None:
    """Return the named modules, without what they depend on."""
    work = WORK / "go"
    work.mkdir(parents=True, exist_ok=True)

    def fetch(group: list[str]) -> bool:
        result = run(
            ["env", f"GOMODCACHE={work / 'cache'}", "GOFLAGS=-modcacherw", "go", "mod", "download", "-json", *group], work
        )
        decoder, text = json.JSONDecoder(), result.stdout.strip()
        while text:
            module, end = decoder.raw_decode(text)
            text = text[end:].lstrip()
            if "Dir" in module:
                target = PACKAGES / "go" / folder_name(module["Path"])
                if not target.exists():
                    shutil.copytree(module["Dir"], target)
                    (target / ".version").write_text(module["Version"])
            else:
                print("not to be had:", module.get("Path"), file=sys.stderr)
        return True

    in_groups([f"{name}@{version or 'latest'}" for name, version in names.items()], 20, fetch)


def maven(names: dict[str, str]) -> None:
    """Source jars of the named artifacts (whose versions are part of the name), without what they depend on."""
    work = WORK / "maven"
    work.mkdir(parents=True, exist_ok=True)

    def fetch(group: list[str]) -> bool:
        items = []
        for name in group:
            parts = name.split(":")
            items.append(
                f"<artifactItem><groupId>{parts[0]}</groupId><artifactId>{parts[1]}</artifactId><version>{parts[2]}</version>"
                f"<classifier>sources</classifier><outputDirectory>{work / 'jars'}</outputDirectory></artifactItem>"
            )
        pom = (
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>corpus</groupId>'
            "<artifactId>corpus</artifactId><version>1</version><packaging>pom</packaging><build><plugins><plugin>"
            "<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>"
            f"<configuration><artifactItems>{''.join(items)}</artifactItems></configuration></plugin></plugins></build></project>"
        )
        (work / "pom.xml").write_text(pom)
        return run(["mvn", "-q", "-B", f"-Dmaven.repo.local={work / 'repository'}", "dependency:copy"], work).returncode == 0

    in_groups(sorted(names), 12, fetch)
    for name in names:
        group, artifact, version = name.split(":")
        jar = work / "jars" / f"{artifact}-{version}-sources.jar"
        target = PACKAGES / "maven" / f"{group}+{artifact}"
        if jar.exists() and not target.exists():
            unpack(jar, target)
            (target / ".version").write_text(version)


def debian(names: dict[str, str]) -> None:
    """Binary packages of interpreted languages: their files are the sources."""
    work = WORK / "debian"
    work.mkdir(parents=True, exist_ok=True)
    in_groups(list(names), 15, lambda group: run(["apt-get", "download", "-q", *group], work).returncode == 0)
    for deb in sorted(work.glob("*.deb")):
        name, version = deb.name.split("_")[:2]
        target = PACKAGES / "debian" / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            run(["dpkg-deb", "-x", str(deb), str(target)], work)
            (target / ".version").write_text(version)


def source_parts(folder: Path) -> Path:
    """Return the machine's own package sources, asked for source packages too, in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for file in filter(Path.is_file, listed):
        text = re.sub(r"^deb(?=\s)", "deb-src", file.read_text(), flags=re.MULTILINE)
        (folder / file.name).write_text(re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE))
    return folder


def debian_source(names: dict[str, str]) -> None:
    """Source packages of compiled languages that have no other registry here. Uses a private apt state with deb-src lines."""
    work = WORK / "debian_source"
    (work / "lists").mkdir(parents=True, exist_ok=True)
    options = [
        "-o",
        f"Dir::Etc::sourceparts={source_parts(work / 'sources.d')}",
        "-o",
        "Dir::Etc::sourcelist=-",
        "-o",
        f"Dir::State::lists={work / 'lists'}",
    ]
    run(["apt-get", *options, "-q", "update"], work)
    target = PACKAGES / "debian_source"
    target.mkdir(parents=True, exist_ok=True)

    def fetch(group: list[str]) -> bool:
        done = run(["apt-get", *options, "-q", "source", "--download-only", *group], work)
        return done.returncode == 0

    in_groups(list(names), 10, fetch)
    for dsc in sorted(work.glob("*.dsc")):
        name, version = dsc.stem.split("_")[:2]
        if not (target / name).exists():
            run(["dpkg-source", "--no-check", "--no-copy", "--skip-patches", "-q", "-x", str(dsc), str(target / name)], work)
            if (target / name).exists():
                (target / name / ".version").write_text(version)


FETCHERS = {
    "pypi": pypi,
    "npm": npm,
    "crates": crates,
    "go": go,
    "maven": maven,
    "debian": debian,
    "debian_source": debian_source,
}


def survey(registry: str) -> list[Package]:
    """List what lies there with its licence; drop what may not be used."""
    kept = []
    for folder in sorted((PACKAGES / registry).glob("*")):
        if not folder.is_dir():
            continue
        version = (folder / ".version").read_text().strip() if (folder / ".version").exists() else ""
        name = folder.name
        if registry == "npm" and (manifest := folder / "package" / "package.json").exists():
            described = json.loads(manifest.read_text(errors="replace"))
            name, version = described.get("name", name), described.get("version", "")
        elif registry == "crates":
            name, _, version = (
                re.match(r"(.+?)(-)(\d+\.\d+.*)$", folder.name).groups()
                if re.match(r"(.+?)(-)(\d+\.\d+.*)$", folder.name)
                else (name, "", "")
            )
        licence = licence_of_folder(registry, folder)
        if is_relative(name) or not allowed(licence):
            print("left out:", registry, name, licence or "no licence found", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
            continue
        (folder / ".name").write_text(name)
        kept.append(Package(registry, name, version, licence))
    return kept


def main() -> None:
    """Fetch everything, check licences, write the lock."""
    registries = sys.argv[1:] or list(FETCHERS)
    with ThreadPoolExecutor(len(registries)) as pool:
        jobs = {registry: pool.submit(FETCHERS[registry], pins(registry)) for registry in registries}
        for registry, job in jobs.items():
            job.result()
            print(registry, "fetched", flush=True)
    packages = [package for registry in FETCHERS for package in survey(registry)]
    LOCK.write_text(json.dumps([asdict(package) for package in packages], indent=0) + "\n")
    print(len(packages), "packages")


if __name__ == "__main__":
    main()
