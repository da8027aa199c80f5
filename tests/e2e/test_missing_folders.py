"""Of several workspace folders, those that give nothing to an answer are named with the real cause."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspClient, LspError
from tests.shop import write_files
from tests.waiting import until

from carrel.frontends.common.uris import path_to_uri

pytestmark = pytest.mark.asyncio(loop_scope="module")

RATES = '''def exchange_rate(currency, day):
    """Return the exchange rate of a currency on a day from the table of the central bank."""
    return central_bank_table(day)[currency]
'''
QUESTION = "exchange rate of a currency"
EXPLICIT = {"query": QUESTION, "trigger": "explicit"}


@pytest.fixture
def money(tmp_path: Path) -> Path:
    return write_files(tmp_path / "money", {"rates.py": RATES})


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return write_files(tmp_path / "bank", {"rates.py": RATES.replace("exchange_rate", "bank_rate")})


def names(answer: Any) -> list[str]:
    return [missing["name"] for missing in answer["missingFolders"]]


async def ask_all(client: LspClient) -> list[dict[str, Any]]:
    found = await client.request("carrel/search", {"query": QUESTION})
    return [found, await client.request("carrel/context", EXPLICIT), await client.request("carrel/context", {"query": QUESTION})]


def is_error(params: Any) -> bool:
    return bool(params["type"] == 1)


async def test_a_folder_that_never_was_is_named_as_such(opened: Start, money: Path, tmp_path: Path) -> None:
    nope = tmp_path / "nope"
    async with opened(money, nope) as client:
        for answer in [*await ask_all(client), *await ask_all(client)]:
            assert paths(answer)[0] == "money/rates.py"
            [missing] = answer["missingFolders"]
            assert (missing["name"], missing["folder"]) == ("nope", path_to_uri(str(nope)))
            assert f"{nope} is gone" in missing["reason"]
            assert "carrel index" not in missing["reason"]
            assert answer["state"] == "error"
            assert missing["reason"] in (answer.get("error") or answer["plan"]["problem"])
        await client.wait_for("window/showMessage", is_error)
        told = [params["message"] for method, params in client.notifications if "essage" in method and is_error(params)]
        assert told == [f"Carrel: {missing['reason']}"], "it is said once, not at every question"
        alone = await client.request("carrel/context", {**EXPLICIT, "workspaceFolder": str(nope)})
        assert (alone["state"], alone["error"]) == ("error", missing["reason"])
        write_files(nope, {"rates.py": RATES.replace("exchange_rate", "new_rate")})
        for answer in await ask_all(client):
            assert "missingFolders" not in answer
            assert answer["state"] == "ready"
            assert "nope/rates.py" in paths(answer)


async def test_a_folder_that_is_deleted_while_it_is_open_is_named(opened: Start, money: Path, bank: Path) -> None:
    async with opened(money, bank) as client:
        assert "bank/rates.py" in paths(await client.request("carrel/search", {"query": QUESTION}))
        shutil.rmtree(bank)
        for answer in await ask_all(client):
            assert set(paths(answer)) == {"money/rates.py"}
            assert names(answer) == ["bank"]
            assert "is gone; its index is kept" in answer["missingFolders"][0]["reason"]
        write_files(bank, {"rates.py": RATES})

        async def found_again() -> bool:
            found = await client.request("carrel/search", {"query": QUESTION})
            assert "missingFolders" not in found
            return "bank/rates.py" in paths(found)

        await until(found_again)


async def test_all_folders_are_named_where_none_answers(opened: Start, tmp_path: Path) -> None:
    one, two = tmp_path / "one", write_files(tmp_path / "two", {".carrel.toml": "this is not TOML"})
    async with opened(one, two) as client:
        pack = await client.request("carrel/context", EXPLICIT)
        assert (pack["text"], names(pack)) == ("", ["one", "two"])
        assert all(missing["reason"].rstrip(".") in pack["error"] for missing in pack["missingFolders"])
        with pytest.raises(LspError, match="The folder one was not searched"):
            await client.request("carrel/search", {"query": QUESTION})


async def test_a_folder_that_is_switched_off_is_named_without_an_error(opened: Start, money: Path, bank: Path) -> None:
    (bank / ".carrel.toml").write_text("ragEnabled = false\n")
    async with opened(money, bank) as client:
        assert "missingFolders" not in await client.request("carrel/context", EXPLICIT)
        chat = await client.request("carrel/context", {"query": QUESTION})
        assert set(paths(chat)) == {"money/rates.py"}
        assert (names(chat), chat.get("error")) == (["bank"], None)
        assert "its memory is off" in chat["missingFolders"][0]["reason"]
        shutil.rmtree(money)
        chat = await client.request("carrel/context", {"query": QUESTION})
        assert sorted(names(chat)) == ["bank", "money"]
        assert "is gone" in chat["error"]
        assert "memory is off" not in chat["error"]


@pytest.mark.parametrize("glob", ["bank", "bank/"])
async def test_the_name_of_a_folder_stands_for_all_of_it(opened: Start, money: Path, bank: Path, glob: str) -> None:
    write_files(bank, {"deep/er/rates.py": RATES.replace("exchange_rate", "deep_rate")})
    async with opened(money, bank) as client:
        found = await client.request("carrel/search", {"query": QUESTION, "filters": {"pathGlob": glob}})
        assert set(paths(found)) == {"bank/rates.py", "bank/deep/er/rates.py"}
        for more in ({}, {"pinned": [path_to_uri(str(bank / "rates.py"))]}):
            pack = await client.request("carrel/context", {**EXPLICIT, **more, "exclude": [glob]})
            assert set(paths(pack)) == {"money/rates.py"}


async def test_a_pinned_file_of_no_folder_keeps_its_name(opened: Start, money: Path, bank: Path, tmp_path: Path) -> None:
    pinned = [path_to_uri(str(tmp_path / "secret.txt")), "untitled:Untitled-9"]
    async with opened(money, bank) as client:
        pack = await client.request("carrel/context", {**EXPLICIT, "pinned": pinned})
        assert [drop["path"] for drop in pack["dropped"] if "outside" in drop["reason"]] == pinned
