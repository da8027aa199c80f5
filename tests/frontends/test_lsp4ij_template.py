"""The template for LSP4IJ's user-defined servers: files have only keys that LSP4IJ reads, and say what the server understands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carrel.frontends.cli.arguments import parser
from carrel.frontends.lsp import protocol_docs

TEMPLATE = Path("editors/intellij/lsp4ij-template")
FILES = {
    "template.json",
    "installer.json",
    "initializationOptions.json",
    "settings.json",
    "settings.schema.json",
    "clientSettings.json",
    "README.md",
}
TASKS = {
    "exec": {"id", "name", "command", "workingDir", "timeout", "ignoreStderr", "onSuccess", "onFail"},
    "download": {"id", "name", "url", "github", "maven", "output", "onSuccess", "onFail"},
    "configureServer": {"id", "name", "command", "update", "onSuccess", "onFail"},
    "showMessage": {"id", "name", "content", "actions", "onSuccess", "onFail"},
}
MACROS = {"$USER_HOME$", "$PROJECT_DIR$", "$WORKSPACE_DIR$"}


def _load(name: str) -> Any:
    return json.loads((TEMPLATE / name).read_text("utf-8"))


def _text(name: str) -> str:
    return (TEMPLATE / name).read_text("utf-8")


def _tasks(task: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A task and all that may follow it; fails on what LSP4IJ would pass over in silence."""
    ((kind, body),) = task.items()  # one key a task
    assert set(body) <= TASKS[kind], f"{kind} has unknown keys"
    yield kind, body
    for following in ("onSuccess", "onFail"):
        if following in body:
            yield from _tasks(body[following])


def _by_system(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"default": value}


def test_the_folder_holds_what_is_imported() -> None:
    assert {file.name for file in TEMPLATE.iterdir()} == FILES


def test_the_template_has_known_keys() -> None:
    template = _load("template.json")
    assert set(template) <= {"id", "name", "url", "programArgs", "env", "expandConfiguration", "fileTypeMappings"}
    assert set(template["programArgs"]) == {"default", "windows"}
    assert set(template["env"]) == {"includeSystemEnvironmentVariables", "variables"}
    for mapping in template["fileTypeMappings"]:
        assert set(mapping) <= {"fileType", "languageId"}
        assert set(mapping["fileType"]) <= {"name", "patterns"}


def test_the_installer_has_known_tasks() -> None:
    installer = _load("installer.json")
    assert set(installer) <= {"id", "name", "executeOnStartServer", "properties", "check", "run"}
    kinds = [kind for start in ("check", "run") for kind, _ in _tasks(installer[start])]
    assert kinds == ["exec", "exec", "exec", "configureServer", "showMessage", "showMessage"]


def test_programs_run_outside_the_project_and_may_write_to_stderr() -> None:
    installer = _load("installer.json")
    for start in ("check", "run"):
        for kind, body in _tasks(installer[start]):
            if kind == "exec":
                assert body["workingDir"] == "$USER_HOME$", "python -m would take a module from the project"
                assert body["ignoreStderr"], "pip's warnings would fail the installation"


def test_only_known_macros_are_used() -> None:
    text = (TEMPLATE / "installer.json").read_text("utf-8")
    assert set(re.findall(r"\$\w+\$", text)) <= MACROS
    assert set(re.findall(r"\$\{[\w.]+\}", text)) == {"${server.command}"}


@pytest.mark.parametrize("system", ["default", "windows"])
def test_what_was_installed_is_what_is_run(system: str) -> None:
    commands = {
        body["name"]: _by_system(body["command"])[system]
        for _, body in _tasks(_load("installer.json")["run"])
        if "command" in body
    }
    venv, pip, configured = commands.values()
    folder = venv[-1]
    assert pip[0].startswith(f"{folder}/")
    assert pip[-1].endswith(".whl"), "from a file that the person names"
    assert pip[-1] in _text("installer.json").partition("Carrel's wheel is missing")[2]
    assert pip[-1] in _text("README.md")
    program, *arguments = shlex.split(configured)
    assert Path(program).parent == Path(pip[0]).parent
    assert Path(program).suffix == Path(pip[0]).suffix == (".exe" if system == "windows" else "")
    assert parser().parse_args(arguments).command == "serve"
    _, *arguments = shlex.split(_load("template.json")["programArgs"][system])
    assert parser().parse_args(arguments).command == "serve"


def test_the_settings_schema_is_the_servers() -> None:
    hint = "run python -m carrel.frontends.lsp.protocol_docs"
    assert protocol_docs.LSP4IJ_SETTINGS.read_text("utf-8") == protocol_docs.lsp4ij_settings_text(), hint
    known = set(_load("settings.schema.json")["properties"])
    assert set(_load("settings.json")) <= known
    assert {f"carrel.{key}" for key in _load("initializationOptions.json")} <= known
