"""All that ships is listed with a licence that asks for no more than a notice."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from tests.release import materials

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("licence", "fine"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-2.0-or-later", False),
        ("(MIT AND LGPL-3.0) OR AGPL-3.0", False),
        ("MPL-2.0", False),
        ("SEE LICENSE IN x", False),
        ("", False),
    ],
)
def test_a_licence_is_read_as_its_words_say(licence: str, fine: bool) -> None:
    assert materials.is_fine("some", licence) is fine


@pytest.mark.skipif(not shutil.which("cargo"), reason="needs cargo")
def test_every_part_is_listed_and_its_licence_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert materials.main() == 0, capsys.readouterr().err
    bill = json.loads(capsys.readouterr().out)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    names = [component["name"] for component in bill["components"]]
    manifest = tomllib.loads((ROOT / "rust_core/core/Cargo.toml").read_text("utf-8"))
    assert {name for name in manifest["dependencies"] if name.startswith("tree-sitter-")} <= {*names}
    assert {"carrel-embed-v1", "gitleaks (rules)", "pygls", "httpx", "mcp", "vscode-languageclient", "tar"} <= {*names}
    assert {"criterion", "proptest", "pytest", "esbuild"} & {*names} == set()
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(references) == len({*references}) > 100


VERSIONS = {
    "Cargo.toml": r'^version = "(.+)"',
    "editors/vscode/package.json": r'^  "version": "(.+)"',
    "editors/vscode/package-lock.json": r'^  "version": "(.+)"',
    "editors/intellij/pom.xml": r"^  <version>(.+)</version>",
    "editors/intellij/core/pom.xml": r"^    <version>(.+)</version>",
    "editors/intellij/plugin/pom.xml": r"^    <version>(.+)</version>",
    "editors/intellij/platform-stubs/pom.xml": r"^    <version>(.+)</version>",
    "editors/agents/plugin/carrel/.claude-plugin/plugin.json": r'"version": "(.+)"',
    "editors/agents/plugin/carrel/.codex-plugin/plugin.json": r'"version": "(.+)"',
    "editors/agents/gemini-extension/carrel/gemini-extension.json": r'"version": "(.+)"',
    "CHANGELOG.md": r"^## ([\d.]+)",
}


@pytest.mark.parametrize("file", VERSIONS)
def test_the_version_is_that_of_pyproject_everywhere(file: str) -> None:
    found = re.search(VERSIONS[file], (ROOT / file).read_text("utf-8"), re.MULTILINE)
    assert found, file
    assert found[1] == materials.PROJECT["version"], f"{file}: raise it with the one in pyproject.toml"


def test_no_other_file_names_the_version() -> None:
    version = f'"{materials.PROJECT["version"]}"'
    for pattern in (
        "python/**/*.py",
        "rust_core/**/Cargo.toml",
        "rust_core/*/src/**/*.rs",
        "editors/*/src/**/*.ts",
        "editors/*/lua/**/*.lua",
    ):
        named = [str(file.relative_to(ROOT)) for file in ROOT.glob(pattern) if version in file.read_text("utf-8")]
        assert named == []
