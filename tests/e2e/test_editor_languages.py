"""The language that an editor gives to a document counts where neither settings nor the file itself say one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspClient
from tests.waiting import until

BADGER = "local depth = 3\n\nfunction dig_burrow(tool)\n  return tool.dig(depth)\nend\n"
OTTER = "def build_holt(river):\n    return river.bank\n"


async def languages(client: LspClient, query: str) -> set[tuple[str, str, str]]:
    """Paths, languages and symbols of what is found."""
    found = await client.request("carrel/search", {"query": query})
    return {(hit["path"], hit["language"], hit.get("symbol", "")) for hit in found["hits"]}


async def test_a_file_of_no_known_language_is_in_that_of_its_document_from_then_on(start: Start, project: Path) -> None:
    badger, other = project / "src/badger.zz", project / "src/copy.zz"
    badger.write_text(BADGER)
    other.write_text(BADGER)
    async with start(project) as client:
        await client.request("carrel/index", {})
        assert {language for path, language, _ in await languages(client, "dig_burrow") if path.endswith(".zz")} == {"other"}
        client.open(other, BADGER, "plaintext")
        client.open(badger, BADGER, "lua")

        async def cut() -> bool:
            return ("src/badger.zz", "lua", "dig_burrow") in await languages(client, "dig_burrow")

        await until(cut)
        unsaved = BADGER.replace("dig_burrow", "dig_sett")
        client.change(badger, unsaved)
        assert ("src/badger.zz", "lua", "dig_sett") in await languages(client, "dig_sett")
        client.change(badger, BADGER, 3)
    async with start(project) as client:
        assert (await client.request("carrel/index", {}))["unchanged"] == 7
        known = {path: language for path, language, _ in await languages(client, "dig_burrow")}
        assert (known["src/badger.zz"], known["src/copy.zz"]) == ("lua", "other")


@pytest.mark.parametrize(
    ("name", "setting"), [("otter.py", {}), ("otter.zz", {"*.zz": "python"}), ("otter.zz", {"*.zz": "other"})]
)
async def test_a_language_that_the_name_or_a_setting_says_stays(
    start: Start, project: Path, name: str, setting: dict[str, str]
) -> None:
    (project / "src" / name).write_text(OTTER)
    async with start(project, languages=setting) as client:
        client.open(project / "src" / name, OTTER, "ruby")
        for _ in range(2):
            await client.request("carrel/index", {})
            known = {path: language for path, language, _ in await languages(client, "build_holt")}
            assert known[f"src/{name}"] == setting.get("*.zz", "python")
