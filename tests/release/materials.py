"""Print all that ships as CycloneDX 1.6; fail where a licence is unknown or asks for more than a notice.

`.venv/bin/python -m tests.release.materials >carrel.cdx.json`. Needs cargo and the packages of `make setup`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROJECT: Any = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "BlueOak-1.0.0", "CC0-1.0", "CNRI-Python"),
    *("ISC", "MIT", "MIT-0", "PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib"),
}
WEAK = {"MPL-2.0": {"certifi"}}
"""Licences that hold for the files alone, with the packages that ship under them unchanged."""
CLASSIFIERS = {"MIT License": "MIT", "BSD License": "BSD-3-Clause", "Apache Software License": "Apache-2.0"}
SPELLED = {"Apache 2.0": "Apache-2.0", "Apache License 2.0": "Apache-2.0", "MIT License": "MIT", "BSD": "BSD-3-Clause"}


def crates() -> Iterator[tuple[str, str, str]]:
    """Yield what the module and the hook's program are linked from, on any platform."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--features", "extension-module"]
    found = json.loads(subprocess.run(command, cwd=ROOT / "rust_core/py", capture_output=True, check=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    links = {node["id"]: node["deps"] for node in found["resolve"]["nodes"]}
    waiting = [package["id"] for package in packages.values() if package["name"] in ("carrel-py", "carrel-hook")]
    seen = set(waiting)
    while waiting:
        for link in links[waiting.pop()]:
            if link["pkg"] not in seen and any(kind["kind"] is None for kind in link["dep_kinds"]):
                seen.add(link["pkg"])
                waiting.append(link["pkg"])
    for package in (packages[one] for one in seen):
        if package["source"]:
            licence = (package["license"] or "").replace(" / ", " OR ").replace("/", " OR ")
            yield f"pkg:cargo/{package['name']}@{package['version']}", package["name"], licence


def python_packages() -> Iterator[tuple[str, str, str]]:
    """Yield what the server needs and what the VS Code extension brings for `carrel mcp`."""
    waiting = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["mcp"]]
    seen = set()
    while waiting:
        requirement, _, condition = waiting.pop().partition(";")
        name = re.split(r"[\s\[<>=!~(]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")
        if name in seen or "extra" in condition:
            continue
        seen.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if condition:  # another platform's
                continue
            raise
        waiting += found.requires or []
        yield f"pkg:pypi/{name}@{found.version}", name, licence_of(found.metadata)


def licence_of(fields: Any) -> str:
    """Return the licence of a Python package, as an expression of SPDX where it can be told."""
    if expression := fields.get("License-Expression") or fields.get("License"):
        first = str(expression).strip().splitlines()[0]
        return SPELLED.get(first, first)
    named = [line.rpartition(" :: ")[2] for line in fields.get_all("Classifier") or () if line.startswith("License ::")]
    return " OR ".join(CLASSIFIERS.get(name, name) for name in named)


def npm_packages() -> Iterator[tuple[str, str, str]]:
    """Yield what the extension's one script is bundled from."""
    folder = ROOT / "editors/vscode"
    locked = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
    sources = "".join(file.read_text("utf-8") for file in (folder / "src").rglob("*.ts"))
    imported = {
        name for name in re.findall(r"from '((?:@[\w.-]+/)?[\w.-]+)", sources) if not name.startswith((".", "node", "vscode'"))
    }
    waiting = [name for name in sorted(imported) if f"node_modules/{name}" in locked]
    seen = set()
    while waiting:
        name = waiting.pop()
        if name not in seen and (found := locked.get(f"node_modules/{name}")):
            seen.add(name)
            waiting += found.get("dependencies", {})
            yield f"pkg:npm/{name.replace('@', '%40')}@{found['version']}", name, found.get("license", "")


def inside() -> Iterator[tuple[str, str, str]]:
    """Yield what lies in the repository itself and came from elsewhere, or was made from it."""
    yield "pkg:generic/carrel-embed-v1@1", "carrel-embed-v1", "Apache-2.0"
    yield "pkg:github/gitleaks/gitleaks", "gitleaks (rules)", "MIT"
    yield "pkg:pypi/django", "django (words of translations)", "BSD-3-Clause"


def is_fine(name: str, licence: str) -> bool:
    """Tell whether one of the ways to take it asks for no more than a notice."""
    licence = re.sub(r" WITH LLVM-exception", "", licence)
    while inner := re.search(r"\(([^()]*)\)", licence):
        licence = licence.replace(inner[0], "MIT" if is_fine(name, inner[1]) else "?")
    return any(
        all(part.strip() in PERMISSIVE or name in WEAK.get(part.strip(), ()) for part in way.split(" AND "))
        for way in licence.split(" OR ")
    )


def main() -> int:
    """Print the bill, and what is wrong with it."""
    parts = sorted({*crates(), *python_packages(), *npm_packages(), *inside()})
    components = []
    for purl, name, licence in parts:
        kind = "machine-learning-model" if purl.startswith("pkg:generic") else "library"
        component = {"type": kind, "bom-ref": purl, "name": name, "purl": purl, "licenses": [{"expression": licence}]}
        if "@" in purl.removeprefix("pkg:npm/%40"):
            component["version"] = purl.rpartition("@")[2]
        components.append(component)
    own = {
        "type": "application",
        "bom-ref": "carrel",
        "name": PROJECT["name"],
        "version": PROJECT["version"],
        "licenses": [{"expression": PROJECT["license"]}],
    }
    whole = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }
    print(json.dumps(whole, indent=1))
    wrong = [f"{purl}: {licence or 'no licence named'}" for purl, name, licence in parts if not is_fine(name, licence)]
    if wrong:
        print("These licences ask for more than a notice, or aren't known:", *wrong, sep="\n  ", file=sys.stderr)
        print("Replace the package, or enter the licence in tests/release/materials.py after reading it.", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
