"""The VS Code extension says twice what the server says once; its own generator checks the rest, with Node.js."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from carrel.frontends.lsp.messages.methods import CLIENT_REQUESTS, COMMANDS, NOTIFICATIONS, REQUESTS
from carrel.settings.settings import Settings, wire_name
from carrel.settings.settings_docs import json_schema

EXTENSION = Path("editors/vscode")
HINT = "run npm run generate in editors/vscode"


def test_the_manifest_has_the_servers_settings() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    wanted = json_schema()["properties"]
    blocks = manifest["contributes"]["configuration"]
    given = {key: spec for block in blocks for key, spec in block["properties"].items() if key.removeprefix("carrel.") in wanted}
    del wanted["editorExclude"], wanted["editorLanguages"]  # the extension sends them, from settings that the editor has already
    assert {key: spec["default"] for key, spec in given.items()} == {
        f"carrel.{key}": spec["default"] for key, spec in wanted.items()
    }, HINT
    texts = json.loads((EXTENSION / "package.nls.json").read_text("utf-8"))
    for key, spec in wanted.items():
        assert given[f"carrel.{key}"]["markdownDescription"] == f"%setting.{key}%", HINT
        assert texts[f"setting.{key}"].endswith(spec["description"]), HINT


def test_a_folder_cannot_say_where_text_or_vectors_go() -> None:
    """What a project's own .vscode/settings.json may set is scoped `window`; the store also names a program to run."""
    manifest = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    given = {key: spec for block in manifest["contributes"]["configuration"] for key, spec in block["properties"].items()}
    outward = {wire_name(field.name) for field in dataclasses.fields(Settings) if field.metadata["outward"]}
    assert outward
    for key in (*(outward & {*json_schema()["properties"]}), "cacheFolder", "storage"):
        assert given[f"carrel.{key}"]["scope"] == "machine", HINT


def test_the_types_name_every_method() -> None:
    source = (EXTENSION / "src/protocol.ts").read_text("utf-8")
    assert set(re.findall(r"'(carrel/[\w/]+)':", source)) == {*REQUESTS, *CLIENT_REQUESTS, *NOTIFICATIONS}, HINT


def test_no_command_of_the_palette_is_one_of_the_server() -> None:
    """The language client registers the server's own by their names, and two of one name don't start."""
    manifest = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    assert not {command["command"] for command in manifest["contributes"]["commands"]} & {*COMMANDS}


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))["packages"]
    assert [name for name, package in packages.items() if "resolved" in package] == []
