"""Several roots are searched as one, and each place says its folder."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from mcp.client import Client
from tests.frontends.mcp.conftest import Connect
from tests.shop import write_files

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.frontends.mcp.folders import Folders
from carrel.model.errors import InvalidInput
from carrel.service.session import Session

RATES = '''def exchange_rate(currency, day):
    """Return the exchange rate of a currency on a day from the table of the central bank."""
    table = central_bank_table(day)
    return table[currency]
'''


async def call(client: Client, name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], str]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content or {}, "\n".join(getattr(part, "text", "") for part in result.content)


async def test_all_roots_are_searched_and_paths_of_answers_are_understood(
    connect: Connect, project: Path, tmp_path: Path
) -> None:
    money = write_files(tmp_path / "money", {"src/rates.py": RATES})
    async with connect(project, money) as client:
        found, text = await call(client, "search_code", {"query": "exchange rate of a currency"})
        assert found["folder"] == ""
        best = found["hits"][0]
        assert (best["path"], best["folder"]) == ("money/src/rates.py", "money")
        assert best["uri"].startswith("carrel://code/money/src/rates.py?lines=")
        assert "money/src/rates.py" in text
        read = await client.read_resource(best["uri"])
        assert "def exchange_rate" in getattr(read.contents[0], "text", "")
        files = {"files": ["money/src/rates.py", "src/orders.py"]}
        pack, text = await call(client, "get_context", {"query": "exchange rate", "maxTokens": 300, **files})
        assert pack["tokens"] <= 300
        assert {"money/src/rates.py", f"{project.name}/src/orders.py"} <= {place["path"] for place in pack["places"]}
        assert not any("outside" in drop["reason"] for drop in pack["dropped"])
        one, _ = await call(client, "search_code", {"query": "exchange rate of a currency", "folder": project.name})
        assert one["folder"] == project.name
        assert not any("money" in hit["path"] for hit in one["hits"])


async def test_a_root_that_cannot_answer_is_named(connect: Connect, project: Path, tmp_path: Path) -> None:
    money = write_files(tmp_path / "money", {"rates.py": RATES, ".carrel.toml": "this is not TOML"})
    async with connect(project, money) as client:
        found, text = await call(client, "search_code", {"query": "zebra quantum flux capacitor"})
        assert list(found["missingFolders"]) == ["money"]
        assert "The folder money was not searched: " in text, "nothing is not claimed of it"
        pack, text = await call(client, "get_context", {"query": "where are orders kept"})
        assert list(pack["missingFolders"]) == ["money"]
        assert pack["places"][0]["folder"] == project.name
        assert "The folder money was not searched: " in text


async def test_a_root_that_is_gone_is_named_once(connect: Connect, project: Path, tmp_path: Path) -> None:
    money = write_files(tmp_path / "money", {"rates.py": RATES})
    async with connect(project, money) as client:
        await call(client, "search_code", {"query": "exchange rate of a currency"})
        shutil.rmtree(money)
        for tool in ("search_code", "get_context"):
            answer, text = await call(client, tool, {"query": "where are orders kept"})
            assert list(answer["missingFolders"]) == ["money"]
            assert text.count("is gone") == 1


async def test_a_place_can_be_read_after_another_root_of_its_name_joins(tmp_path: Path) -> None:
    red, blue = (write_files(tmp_path / team / "app", {"rates.py": RATES}) for team in ("red", "blue"))
    session = Session(Composition(), longest_match)
    session.configure({})
    folders = Folders(session, (), fallback=tmp_path)
    try:
        folders.decide([red])
        assert folders.place("app", "rates.py")[0] == "app"
        folders.decide([red, blue])
        for place in (("app", "rates.py"), ("", "app/rates.py"), ("red-app", "rates.py")):
            name, workspace, path = folders.place(*place)
            assert (name, workspace.root, path) == ("red-app", red, "rates.py")
    finally:
        await session.close()


async def test_a_path_of_any_length_and_signs_is_a_place_or_refused(tmp_path: Path) -> None:
    root, drawn = write_files(tmp_path / "app", {"rates.py": RATES}), random.SystemRandom()
    session = Session(Composition(), longest_match)
    session.configure({})
    folders = Folders(session, (root,), fallback=tmp_path)
    pieces = ["..", ".", "", "a", "é", "\ud800", "\0", "\n", "C:", "\\", "~", "%2e%2e", "rates.py", "x" * 300]
    try:
        for _ in range(500):
            path = drawn.choice(("", "/", "//", "file:", "file:///", f"{root}/")) + "/".join(
                drawn.choices(pieces, k=drawn.choice((1, 2, 5, 2_000)))
            )
            for folder in ("", "app"):
                try:
                    place = folders.place(folder, path)[2]
                except InvalidInput:
                    continue
                assert ".." not in place.replace("\\", "/").split("/"), ascii(path)
                assert not place.startswith("/"), ascii(path)
                assert "\0" not in place, ascii(path)
    finally:
        await session.close()


async def test_a_file_whose_name_is_too_long_keeps_back_nothing_else(connect: Connect, project: Path) -> None:
    async with connect(project) as client:
        for length in random.SystemRandom().sample(range(256, 1_000), 5):
            asked = {"query": "where are logins checked", "files": ["x" * length, "src/auth.py"]}
            assert "def " in (await call(client, "get_context", asked))[1]
