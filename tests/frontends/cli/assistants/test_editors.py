"""`carrel agents` for editors' agents: a server, and in a folder a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.frontends.cli.assistants.conftest import files, states

from carrel.frontends.cli import main


@pytest.mark.parametrize(
    ("editor", "server", "rule"),
    [
        ("cursor", ".cursor/mcp.json", ".cursor/rules/carrel.mdc"),
        ("vscode", ".vscode/mcp.json", ".github/instructions/carrel.instructions.md"),
    ],
)
def test_an_editor_gets_the_server_and_in_a_folder_a_rule(
    home: Path, tmp_path: Path, capsys: Any, editor: str, server: str, rule: str
) -> None:
    assert main(["agents", "install", editor, "--yes"]) == 0
    assert "adds no context to a prompt by itself" in capsys.readouterr().out
    assert [Path(name).name for name in files(home)] == ["mcp.json"], "no file of the user's own holds rules"
    assert states(capsys, editor) == {editor: ("installed", "")}
    folder = tmp_path / "folder"
    folder.mkdir()
    where = ["--workspace", "--path", str(folder)]
    assert main(["agents", "install", editor, "--yes", *where]) == 0
    assert set(files(folder)) == {server, rule}
    head, text = (folder / rule).read_text().removeprefix("---\n").split("\n---\n")
    assert head in ("alwaysApply: true", 'applyTo: "**"')
    assert "`carrel`" in text
    assert "search_code" in text
    for scope in (where, []):
        assert main(["agents", "uninstall", editor, *scope]) == 0
    assert files(tmp_path) == {}
    assert not list(folder.iterdir())


def test_a_rule_that_is_gone_is_named(home: Path, tmp_path: Path, capsys: Any) -> None:
    where = ["--workspace", "--path", str(home)]
    assert main(["agents", "install", "vscode", "--yes", *where]) == 0
    (home / ".github/instructions/carrel.instructions.md").unlink()
    state, detail = states(capsys, "vscode", *where)["vscode"]
    assert state == "incomplete"
    assert detail.startswith("the rule is missing in")


def test_a_rule_of_another_version_or_with_other_line_ends_is_taken_out(home: Path, capsys: Any) -> None:
    where = ["--workspace", "--path", str(home)]
    assert main(["agents", "install", "cursor", "--yes", *where]) == 0
    rule = home / ".cursor/rules/carrel.mdc"
    rule.write_bytes(rule.read_bytes().replace(b"search_code", b"search_all").replace(b"\n", b"\r\n"))
    assert states(capsys, "cursor", *where)["cursor"][0] == "installed by another version or path"
    assert main(["agents", "uninstall", "cursor", *where]) == 0
    assert not rule.exists()


def test_a_rule_that_a_person_went_on_writing_in_stays(home: Path) -> None:
    where = ["--workspace", "--path", str(home)]
    assert main(["agents", "install", "cursor", "--yes", *where]) == 0
    rule = home / ".cursor/rules/carrel.mdc"
    rule.write_text(rule.read_text() + "Never touch the lock file.\n")
    main(["agents", "uninstall", "cursor", *where])
    assert "Never touch the lock file." in rule.read_text()


def test_an_editor_is_set_up_only_by_its_name(home: Path, capsys: Any) -> None:
    (home / ".cursor").mkdir()
    assert states(capsys)["cursor"][0] == "not installed"
    assert main(["agents", "install", "--yes"]) == 1
    assert "Cursor" not in capsys.readouterr().err
    assert files(home) == {}
