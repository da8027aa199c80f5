"""The workflows name fixed versions of others' actions, and may do no more than they need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
EXAMPLE = ROOT / "docs/examples/index.yml"


@pytest.mark.parametrize("file", [*WORKFLOWS, EXAMPLE], ids=lambda file: file.stem)
def test_a_workflow_trusts_nobody_by_name(file: Path) -> None:
    text = file.read_text("utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []
    assert "secrets." not in text
    assert not re.search(r"pull_request_target|curl .*\|", text)
    workflow: dict[Any, Any] = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 90
        assert ("write" in str(job.get("permissions"))) is (name == "publish")
        assert name != "publish" or job["if"] == "github.event_name == 'push' && github.ref_type == 'tag'"


def test_only_carrels_own_packages_go_to_pypi() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    assert re.findall(r"uv\" publish .*? (dist/\S+)$", text, re.MULTILINE) == ["dist/carrel_context-*"]


def test_files_that_workflows_run_are_there() -> None:
    text = "".join(file.read_text("utf-8") for file in WORKFLOWS)
    named = set(re.findall(r"(?<![\w/])(\.ci/[\w.-]+)", text))
    assert {name for name in named if not (ROOT / name).exists()} == set()
    assert len(named) >= 4


@pytest.mark.skipif(sys.platform == "win32", reason="bash builds a checkout")
def test_the_notes_of_a_release_are_its_part_of_the_changelog() -> None:
    notes = subprocess.run([ROOT / ".ci/notes"], capture_output=True, text=True, check=True).stdout
    assert notes.strip() in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "### Index" in notes
    assert "## 0." not in notes.replace("### ", "")
