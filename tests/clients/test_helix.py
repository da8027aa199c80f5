"""The messages that Helix 25.07.1 sends, as recorded from the editor: what docs/editors.md promises."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.lsp_client import LspClient
from tests.shop import SHOP, write_files

RECORDED = json.loads(Path(__file__).with_name("helix_capabilities.json").read_text("utf-8"))


@pytest.mark.parametrize("nested", [False, True], ids=["config", "config.carrel"])
async def test_helix_has_the_project_indexed_and_unsaved_text_counts(
    tmp_path: Path, env: dict[str, str], *, nested: bool
) -> None:
    root = write_files(tmp_path / "shop", SHOP)
    uri, own = root.as_uri(), {"ragAutoIndex": True, "cacheFolder": str(tmp_path / "cache")}
    settings = {"carrel": own} if nested else own
    client = await LspClient.spawn(env=env)
    try:
        # Helix looks a section up in its `config`, and gives null for one that isn't there.
        client.answers["workspace/configuration"] = lambda params: [settings.get(item["section"]) for item in params["items"]]
        named = {"rootPath": str(root), "rootUri": uri, "workspaceFolders": [{"name": "shop", "uri": uri}]}
        await client.request("initialize", {**RECORDED, **named, "initializationOptions": settings, "processId": os.getpid()})
        client.notify("initialized", {})
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        file = root / "src/auth.py"
        document = {"uri": file.as_uri(), "languageId": "python", "version": 0, "text": file.read_text("utf-8")}
        client.notify("textDocument/didOpen", {"textDocument": document})
        indexed = await client.wait_for("carrel/statusChanged", lambda status: status["state"] == "ready" and status["files"])

        report = await execute(client, "carrel.index")
        assert (report["added"], report["unchanged"]) == (0, indexed["files"])
        start = {"line": 0, "character": 0}
        typed = [{"range": {"start": start, "end": start}, "text": "# a login by moonlight\n"}]
        changed = {"uri": file.as_uri(), "version": 1}
        client.notify("textDocument/didChange", {"contentChanges": typed, "textDocument": changed})
        pack = await execute(client, "carrel.context", {"query": "how is a login checked", "trigger": "explicit"})
        assert "moonlight" in pack["text"]
        await client.stop()
    finally:
        await client.kill()


def execute(client: LspClient, command: str, *arguments: Any) -> Any:
    return client.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})
