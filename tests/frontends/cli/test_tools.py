"""`carrel tools` and `carrel pipeline` as a person types them, on a terminal and without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json
from tests.frontends.cli.test_models import typed_at_a_terminal

TOOLS = {
    "tools": [
        {"name": "cull", "description": "Make photos smaller.", "risk": "safe", "tags": ["images"], "schema": {"type": "object"}},
        {"name": "a b", "description": "Has no usable name."},
    ]
}
SERVER = Path(__file__).parents[1] / "mcp" / "tool_server.py"


@pytest.fixture
def described(tmp_path: Path) -> Path:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS), "utf-8")
    return file


def test_a_source_is_added_found_and_removed(run: Run, described: Path) -> None:
    code, out, err = run("tools", "add", "ours", "--file", str(described), "--json")
    assert code == 1, err  # one tool can't be used
    assert [tool["name"] for tool in one_json(out)["tools"]] == ["ours.cull"]
    assert "no name that can be used" in err
    code, out, _ = run("tools", "search", "make a picture smaller", "--limit", "1", "--json")
    (tool,) = one_json(out)["tools"]
    assert (tool["name"], tool["state"], tool["risk"]) == ("ours.cull", "new", "safe")
    code, out, err = run("tools", "list")
    assert "carrel.grep (safe)" in out
    assert "ours.cull (safe) [new: carrel tools approve]" in out
    assert "cull" not in run("tools", "list", "--export", "openai")[1]  # a model is told of approved ones alone
    assert run("tools", "add", "ours", "--file", str(described))[0] == 2
    assert run("tools", "remove", "ours")[0] == 0
    assert "ours" not in run("tools", "list")[1]
    assert run("tools", "remove", "ours")[0] == 2


def test_settings_of_tools_that_cant_be_read_are_named_and_not_written_to(run: Run, described: Path, tmp_path: Path) -> None:
    assert run("tools", "add", "ours", "--file", str(described))[0] == 1
    file = next(tmp_path.rglob("settings.toml"))
    file.write_text(before := file.read_text("utf-8") + "[tools.openapi]\nshop = 'shop.json'\n", "utf-8")
    for typed in (("add", "more", "--file", str(described)), ("remove", "ours"), ("list",)):
        code, out, err = run("tools", *typed)
        assert (code, out) == (1, ""), err
        assert "No source of tools counts: " in err
        assert "openapi" in err
    assert file.read_text("utf-8") == before


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("add", "x"), "give one of --url, --file"),
        (("add", "Bad Name", "--file", "f"), "a source is named by"),
        (("add", "carrel", "--file", "f"), "a source is named by"),
        (("add", "x", "--url", "ftp://x"), "must be a URL"),
        (("add", "x", "--url", "https://x.example", "--key", "sk-123456"), "says where the key is"),
        (("add", "x", "--env", "A=b", "--", "y"), "is not the name of a variable"),
        (("refresh", "nowhere"), "there is no source"),
    ],
)
def test_what_cant_be_added_is_refused_and_not_written(run: Run, tmp_path: Path, typed: tuple[str, ...], said: str) -> None:
    code, _, err = run("tools", *typed)
    assert code == 2
    assert said in err
    assert "sk-123456" not in err
    assert not (tmp_path / "config" / "carrel").exists()


def test_a_pipeline_is_checked_and_run(run: Run, project: Path, tmp_path: Path) -> None:
    plan, log = tmp_path / "plan.json", tmp_path / "app.log"
    log.write_text("b ERROR\nfine\na ERROR\n", "utf-8")
    steps = [{"tool": "grep", "args": {"pattern": "ERROR"}}, {"tool": "sort"}, {"tool": "head", "args": {"lines": 1}}]
    plan.write_text(json.dumps({"steps": steps}), "utf-8")
    code, out, _ = run("pipeline", "validate", str(plan), "--path", str(project))
    assert (code, out.splitlines()[-1]) == (0, "It can run. Risk: safe.")
    code, out, err = run("pipeline", "run", str(plan), "--input", str(log), "--path", str(project))
    assert (code, out) == (0, "a ERROR\n")
    assert "step 2: carrel.head" in err
    assert run("pipeline", "run", str(plan), "--dry-run", "--path", str(project))[1].startswith("step 0: grep")
    plan.write_text(json.dumps({"steps": [{"tool": "rm", "args": {"path": "/"}}]}), "utf-8")
    several = tmp_path / "several.json"
    several.write_text(json.dumps({"steps": [{"tool": "sort"}]}), "utf-8")
    code, out, _ = run("pipeline", "run", str(several), "--input", str(log), "--path", str(project))
    assert (code, out) == (0, "a ERROR\nb ERROR\nfine\n"), "as it is, for other programs"
    code, out, err = run("pipeline", "run", str(plan), "--path", str(project), "--json")
    assert code == 1
    assert one_json(out)["error"] == "step 0: tool rm not allowed"
    assert run("pipeline", "validate", str(tmp_path / "missing"), "--path", str(project))[0] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
def test_only_a_person_at_a_terminal_approves(run: Run, project: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.write_text("Greet somebody.", "utf-8")
    assert run("tools", "add", "t", "--", sys.executable, str(SERVER), str(told))[0] == 0
    assert typed_at_a_terminal(["tools", "approve", "t"], right=False)[0] == 1
    assert "t.greet (moderate) [new" in run("tools", "list")[1]
    code, shown = typed_at_a_terminal(["tools", "approve", "t"], right=True)
    assert code == 0
    assert "Greet somebody." in shown
    assert "t.greet (moderate)  Greet" in run("tools", "list")[1]
    file = tmp_path / "precious"
    file.write_text("x", "utf-8")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"steps": [{"tool": "wipe", "args": {"path": str(file)}}]}), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "carrel", "pipeline", "run", str(plan)],
        input="yes\n",
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert (done.returncode, file.exists()) == (1, True)
    assert "nobody could be asked" in done.stderr
    code, shown = typed_at_a_terminal(["pipeline", "run", str(plan)], right=True)
    assert "t.wipe (dangerous)" in shown
    assert (code, file.exists()) == (0, False)
