"""Documents that were never saved are found while they are open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspClient

from carrel.frontends.lsp.editor_documents import path_for

OKAPI = "def okapi_counter(herd):\n    # counts every okapi of the herd once\n    return len(herd)\n"


def opened(client: LspClient, uri: str, text: str = OKAPI, language: str = "python") -> None:
    document = {"uri": uri, "languageId": language, "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


async def search(client: LspClient, query: str = "okapi_counter") -> Any:
    return await client.request("carrel/search", {"query": query, "filters": {"symbol": query}})


async def test_it_is_found_while_it_is_open_under_its_own_uri(start: Start, project: Path) -> None:
    uri = "untitled:Untitled%201"
    async with start(project) as client:
        await client.request("carrel/index", {})
        opened(client, uri)
        (hit,) = (await search(client))["hits"]
        assert (hit["uri"], hit["path"], hit["language"], hit["text"]) == (
            uri,
            "untitled:/Untitled 1.py",
            "python",
            OKAPI.rstrip(),
        )
        change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": OKAPI.replace("okapi", "zebra")}]}
        client.notify("textDocument/didChange", change)
        assert (await search(client))["hits"] == []
        context = await client.request("carrel/context", {"query": "zebra_counter", "trigger": "explicit", "pinned": [uri]})
        assert context["hits"][0]["uri"] == uri
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert (await search(client, "zebra_counter"))["hits"] == []
        assert (await client.request("carrel/files", {"query": "zebra_counter"}))["files"] == []


async def test_a_file_that_is_not_on_disk_yet_is_found_too(start: Start, project: Path) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        for path in ("new/okapi.py", "generated/okapi.py", ".env.okapi"):  # one is ignored, one secret
            client.open(project / path, OKAPI)
        assert paths(await search(client)) == ["new/okapi.py"]
        client.close(project / "new/okapi.py")
        assert paths(await search(client)) == []


async def test_it_leads_nowhere_and_hides_nothing(start: Start, project: Path) -> None:
    before = (project / "src/auth.py").read_text()
    async with start(project) as client:
        await client.request("carrel/index", {})
        for uri in ("untitled:src/auth.py", "untitled:../../auth.py", f"untitled:{project}/src/auth.py", "untitled:.env"):
            opened(client, uri)
        assert sorted(paths(await search(client))) == ["untitled:/auth (2).py", "untitled:/auth (3).py", "untitled:/auth.py"]
        (hit,) = (await search(client, "authenticate_user"))["hits"]
        assert (hit["path"], hit["text"] in before) == ("src/auth.py", True)


async def test_it_moves_on_when_its_folder_leaves(start: Start, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("x = 1\n")
    async with start(project, other) as client:
        opened(client, "untitled:Untitled-1")
        event = {"added": [], "removed": [{"uri": project.as_uri(), "name": "shop"}]}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        await client.request("carrel/index", {})
        assert paths(await search(client)) == ["untitled:/Untitled-1.py"]


@pytest.mark.parametrize(
    ("uri", "language", "expected"),
    [
        ("untitled:Untitled-1", "plaintext", "untitled:/Untitled-1.txt"),
        ("untitled:Untitled-1", "java", "untitled:/Untitled-1.java"),
        ("untitled:Untitled-1", "no-such-language", "untitled:/Untitled-1.txt"),
        ("untitled:a.rs", "plaintext", "untitled:/a.rs"),
        ("untitled:/home/me/a.rs", "rust", "untitled:/a.rs"),
        ("untitled:C:\\me\\a.rs", "rust", "untitled:/a.rs"),
        ("untitled:a%2Fb.py", "python", "untitled:/b.py"),
        ("untitled:..", "python", "untitled:/Untitled.py"),
        ("untitled:/", "python", "untitled:/Untitled.py"),
        ("untitled:a%00%0Ab:c", "python", "untitled:/a_b_c.py"),
    ],
)
def test_the_path_of_a_name(uri: str, language: str, expected: str) -> None:
    assert path_for(uri, language, lambda _: False) == expected
