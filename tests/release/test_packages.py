"""Check that what package managers take names the files of the release by hash, and for each platform its own."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
from fnmatch import fnmatch
from pathlib import Path

import pytest
from tests.release.packages import PROJECT, ROOT, SUMMARY, VERSION, WHEELS, main

REPOSITORY = "https://github.com/somebody/carrel"
TAGS = ("macosx_11_0_arm64", "macosx_10_12_x86_64", "manylinux_2_28_aarch64", "manylinux_2_28_x86_64", "win_amd64")


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    for tag in (*TAGS, "musllinux_1_2_x86_64", "win_arm64"):
        (tmp_path / f"carrel_context-{VERSION}-cp311-abi3-{tag}.whl").write_text(tag)
    return tmp_path


def test_each_platform_gets_its_own_wheel_by_hash(dist: Path) -> None:
    assert main([str(dist), REPOSITORY]) == 0
    hashes = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in dist.iterdir()}
    formula = (dist / "carrel.rb").read_text()
    system = processor = ""
    for line in formula.splitlines():
        if match := re.fullmatch(r"  on_(macos|linux) do", line):
            system = match[1]
        if match := re.fullmatch(r"    on_(arm|intel) do", line):
            processor = match[1]
        if match := re.search(r'url ".*/(carrel_context[^"/]*)"', line):
            assert fnmatch(match[1], f"*{WHEELS[system, processor]}.whl")
    pairs = re.findall(rf'url "{REPOSITORY}/releases/download/v{VERSION}/([^"]+)".*\n\s*sha256 "(\w+)"', formula)
    assert dict(pairs) == {name: hashes[name] for name, _ in pairs}
    assert len(pairs) == 5
    manifest = json.loads((dist / "carrel.json").read_text())
    files = manifest["architecture"]["64bit"]
    assert [hashes[url.rpartition("/")[2]] for url in files["url"]] == files["hash"]
    assert files["url"][0].rpartition("/")[2] in manifest["installer"]["script"][3]
    if ruby := shutil.which("ruby"):
        subprocess.run([ruby, "-c", dist / "carrel.rb"], check=True, capture_output=True)


def test_the_registry_of_mcp_servers_can_run_what_it_is_told(dist: Path) -> None:
    assert main([str(dist), REPOSITORY]) == 0
    entry = json.loads((dist / "server.json").read_text())
    assert entry["name"] == "io.github.somebody/carrel"
    assert entry["version"] == entry["packages"][0]["version"] == PROJECT["version"]
    assert entry["packages"][0]["identifier"] in PROJECT["scripts"]  # what `uvx` runs
    assert len(SUMMARY) <= 80


def test_the_rock_holds_every_module_and_the_same_bytes_each_time(dist: Path) -> None:
    archives = []
    for _ in range(2):
        assert main([str(dist), REPOSITORY]) == 0
        archives.append((dist / f"carrel.nvim-{VERSION}.tar.gz").read_bytes())
    assert archives[0] == archives[1]
    with tarfile.open(dist / f"carrel.nvim-{VERSION}.tar.gz") as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    rockspec = (dist / f"carrel.nvim-{VERSION}-1.rockspec").read_text()
    modules = dict(re.findall(r'\["([\w.]+)"\] = "([^"]+)"', rockspec))
    assert set(modules.values()) == {name for name in inside if name.endswith(".lua") and name.startswith("lua/")}
    assert modules["carrel"] == "lua/carrel/init.lua"
    assert {"doc/carrel.txt", "plugin/carrel.lua", "LICENSE"} <= inside


@pytest.mark.parametrize(
    ("missing", "address", "words"),
    [
        ("win_amd64", REPOSITORY, r"0 files are called .*win_amd64\.whl"),
        ("", "git@github.com:somebody/carrel", "not https://HOST/OWNER/NAME"),
    ],
)
def test_what_lacks_is_named(dist: Path, missing: str, address: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    if missing:
        (dist / f"carrel_context-{VERSION}-cp311-abi3-{missing}.whl").unlink()
    assert main([str(dist), address]) == 2
    assert re.search(words, capsys.readouterr().err)
    assert not list(dist.glob("carrel.rb"))


def test_locked_packages_of_the_server_are_those_that_the_tests_use() -> None:
    texts = {name: (ROOT / f"requirements/{name}.txt").read_text() for name in ("server", "dev")}
    server, tests = (dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)) for text in texts.values())
    assert len(server) > 20
    assert {name: tests.get(name) for name in server} == server
