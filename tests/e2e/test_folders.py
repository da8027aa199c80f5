"""Several workspace folders are asked as one: one order, one budget, each hit with its folder."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspError
from tests.shop import write_files

from carrel.frontends.common.uris import path_to_uri

pytestmark = pytest.mark.asyncio(loop_scope="module")

RATES = '''def exchange_rate(currency, day):
    """Return the exchange rate of a currency on a day from the table of the central bank."""
    table = central_bank_table(day)
    return table[currency]
'''
LOCKS = '''class BrewLock:
    """Keep two kettles from brewing at once: the second one waits for the first to cool down."""

    def acquire(self, kettle):
        while self.holder is not None:
            self.wait_until_cool(self.holder)
        self.holder = kettle
'''
SHARED = '''def settings_of(environment):
    """Read the settings of an environment from its file, with the defaults for what it leaves out."""
    return {**DEFAULTS, **read_file(environment)}
'''


@pytest.fixture
def money(tmp_path: Path) -> Path:
    return write_files(tmp_path / "money", {"rates.py": RATES, "config.py": SHARED})


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    return write_files(tmp_path / "kitchen", {"locks.py": LOCKS, "config.py": SHARED})


def explicit(query: str, **more: Any) -> dict[str, Any]:
    return {"query": query, "trigger": "explicit", **more}


async def test_all_folders_answer_in_one_order_with_one_budget(opened: Start, money: Path, kitchen: Path) -> None:
    async with opened(money, kitchen) as client:
        for question, path, folder in (
            ("where is the exchange rate of a currency", "money/rates.py", money),
            ("what keeps two kettles from brewing at once", "kitchen/locks.py", kitchen),
        ):
            found = await client.request("carrel/search", {"query": question})
            best = found["hits"][0]
            uri = path_to_uri(str(folder))
            assert (best["path"], best["folder"]) == (path, uri)
            assert best["uri"] == f"{uri}/{path.partition('/')[2]}"
            scores = [hit["score"] for hit in found["hits"]]
            assert scores == sorted(scores, reverse=True)
            pack = await client.request("carrel/context", explicit(question, budget={"tokens": 400}))
            assert pack["hits"][0]["path"] == path
            assert f'file="{path}"' in pack["text"]
            assert pack["tokens"] <= 400
            assert "missingFolders" not in pack
            story = await client.request("carrel/explain", {"packId": pack["id"]})
            assert next(one for one in story["candidates"] if one["path"] == path)["verdict"].startswith("given")
            cited = await client.request("carrel/citations", {"packId": pack["id"], "text": f"See {path}:1-3."})
            assert cited["citations"][0]["uri"] == best["uri"]
        nothing = await client.request("carrel/context", explicit("zebra quantum flux capacitor"))
        assert (nothing["hits"], nothing.get("error")) == ([], None)


async def test_files_of_one_name_and_content_are_told_apart(opened: Start, money: Path, kitchen: Path) -> None:
    async with opened(money, kitchen) as client:
        found = await client.request("carrel/search", {"query": "settings_of"})
        assert sorted(path for path in paths(found) if "config" in path) == ["kitchen/config.py", "money/config.py"]
        assert len({hit["id"] for hit in found["hits"]}) == len(found["hits"])
        pack = await client.request("carrel/context", explicit("settings_of an environment"))
        assert {"kitchen/config.py", "money/config.py"} <= set(paths(pack))
        assert pack["text"].count("def settings_of") == 2


@pytest.mark.parametrize("named", ["kitchen/config.py:2", "kitchen/lib/loop.py:2", "{kitchen}/lib/loop.py:2"])
async def test_a_place_that_is_named_is_of_the_folder_that_it_begins_with(
    opened: Start, money: Path, kitchen: Path, named: str
) -> None:
    for folder in (money, kitchen):
        write_files(folder / "lib", {"loop.py": SHARED})
    async with opened(money, kitchen) as client:
        question = f"what does {named.format(kitchen=kitchen.as_posix())} do"
        found = await client.request("carrel/search", {"query": question})
        pack = await client.request("carrel/context", explicit(question))
    path = f"kitchen/{named.rpartition(':')[0].split('kitchen')[-1].strip('/}')}"
    for answer in (found, pack):
        assert answer["hits"][0]["path"] == path
        assert [hit["path"] for hit in answer["hits"] if hit["score"] >= 0.9] == [path]


async def test_folders_of_one_name_are_told_apart(opened: Start, tmp_path: Path) -> None:
    first, second = (write_files(tmp_path / team / "app", {"lib/loop.py": SHARED}) for team in ("red", "blue"))
    async with opened(first, second) as client:
        found = await client.request("carrel/search", {"query": "settings_of"})
        assert {(hit["path"], hit["uri"]) for hit in found["hits"]} == {
            ("red-app/lib/loop.py", path_to_uri(str(first / "lib/loop.py"))),
            ("blue-app/lib/loop.py", path_to_uri(str(second / "lib/loop.py"))),
        }
        place = await client.request("carrel/search", {"query": "what does blue-app/lib/loop.py:2 do"})
        assert place["hits"][0]["uri"].startswith(path_to_uri(str(second)))


async def test_a_place_that_was_given_opens_after_another_folder_of_its_name_joins(opened: Start, kitchen: Path) -> None:
    red, blue = (write_files(kitchen.parent / team / "app", {"lib/loop.py": SHARED}) for team in ("red", "blue"))
    async with opened(red, kitchen) as client:
        found = await client.request("carrel/search", {"query": "settings_of"})
        assert "app/lib/loop.py" in paths(found)
        joined = {"uri": path_to_uri(str(blue)), "name": "app"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [joined], "removed": []}})
        await client.request("carrel/index", {"workspaceFolder": joined["uri"]})
        place = await client.request("carrel/search", {"query": "what does app/lib/loop.py:2 do"})
        assert [hit["path"] for hit in place["hits"] if hit["score"] >= 0.9] == ["red-app/lib/loop.py"]
        only = await client.request("carrel/search", {"query": "settings_of", "filters": {"pathGlob": "app/**"}})
        assert paths(only) == ["red-app/lib/loop.py"]
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [joined]}})


async def test_the_places_that_hold_a_word_are_those_of_all_folders(opened: Start, money: Path, kitchen: Path) -> None:
    async with opened(money, kitchen) as client:
        assert (await client.request("carrel/search", {"query": "environment"}))["plan"]["holding"] == 2


async def test_one_folder_that_is_named_answers_as_if_it_were_alone(start: Start, money: Path, kitchen: Path) -> None:
    question = explicit("where are settings read", budget={"tokens": 500})
    async with start(money) as client:
        alone = await client.request("carrel/context", question)
    async with start(kitchen, money) as client:
        for named in ({"workspaceFolder": path_to_uri(str(money))}, {"folders": [path_to_uri(str(money))]}):
            pack = await client.request("carrel/context", {**question, **named})
            assert pack["text"] == alone["text"]
            assert [hit["path"] for hit in pack["hits"]] == [hit["path"] for hit in alone["hits"]]
            assert not any("folder" in hit for hit in pack["hits"])
        both = await client.request("carrel/context", {**question, "folders": [str(kitchen), str(money)]})
        assert {hit["folder"] for hit in both["hits"]} == {path_to_uri(str(kitchen)), path_to_uri(str(money))}
        turn = {"role": "user", "content": "where are settings read"}
        with pytest.raises(LspError, match="folders: names several folders"):
            await client.request("carrel/chat", {"messages": [turn], "folders": [str(kitchen), str(money)]})
        wrong = await client.request("carrel/context", {**question, "folders": [str(kitchen / "nowhere")]})
        assert "is not an open folder" in wrong["error"]


async def test_a_folder_inside_another_gives_no_place_twice(opened: Start, kitchen: Path) -> None:
    inner = write_files(kitchen / "money", {"rates.py": RATES})
    write_files(kitchen / "other" / "money", {"notes.py": SHARED})
    async with opened(kitchen, inner) as client:
        found = await client.request("carrel/search", {"query": "exchange_rate of a currency", "limit": 50})
        uris = [(hit["uri"], hit["startLine"]) for hit in found["hits"]]
        assert len(uris) == len(set(uris))
        assert [hit["path"] for hit in found["hits"] if hit["uri"].endswith("rates.py")] == ["money/rates.py"]
        notes = await client.request("carrel/search", {"query": "settings_of", "limit": 50})
        assert "kitchen/other/money/notes.py" in paths(notes)


async def test_the_settings_of_a_strangers_folder_reach_neither_the_person_nor_a_folder_inside(
    opened: Start, kitchen: Path, tmp_path: Path
) -> None:
    inner, made = write_files(kitchen / "money", {"rates.py": RATES}), tmp_path / "made"
    (kitchen / ".carrel.toml").write_text(
        f"exclude = ['**']\nmodels = {{chat = {{provider = 'openai'}}}}\n"
        f"[tools.servers.x]\ncommand = 'touch'\nargs = ['{made.as_posix()}']\n"
    )
    async with opened(kitchen, inner) as client:
        found = await client.request("carrel/search", {"query": "exchange_rate of a currency"})
        assert paths(found) == ["money/rates.py"]
        assert paths(await client.request("carrel/search", {"query": "BrewLock acquire"})) == []
        models = (await client.request("carrel/providers", {"workspaceFolder": path_to_uri(str(kitchen))}))["models"]
        assert [model["provider"] for model in models] == ["bundled"]
    assert not made.exists()


async def test_a_folder_that_cannot_answer_is_named_and_the_others_answer(opened: Start, money: Path, kitchen: Path) -> None:
    (kitchen / ".carrel.toml").write_text("this is not TOML")
    async with opened(money, kitchen) as client:
        pack = await client.request("carrel/context", explicit("exchange rate of a currency"))
        assert paths(pack)[0] == "money/rates.py"
        [missing] = pack["missingFolders"]
        assert (missing["folder"], missing["name"]) == (path_to_uri(str(kitchen)), "kitchen")
        assert "The folder kitchen was not searched: " in pack["error"]
        assert missing["reason"] in pack["error"]
        found = await client.request("carrel/search", {"query": "exchange rate of a currency"})
        assert paths(found)[0] == "money/rates.py"
        assert found["missingFolders"] == pack["missingFolders"]
        assert "The folder kitchen was not searched: " in found["plan"]["problem"]
        (kitchen / ".carrel.toml").write_text("ragEnabled = false\n")
        await client.request("carrel/index", {"workspaceFolder": str(kitchen)})
        chat = await client.request("carrel/context", {"query": "exchange rate of a currency"})
        assert "its memory is off" in chat["missingFolders"][0]["reason"]


async def test_what_is_pinned_attached_and_left_out_counts_in_its_folder(opened: Start, money: Path, kitchen: Path) -> None:
    locks, config = path_to_uri(str(kitchen / "locks.py")), path_to_uri(str(money / "config.py"))
    async with opened(money, kitchen) as client:
        question = explicit("where are settings read")
        await client.request("carrel/search", {"query": "settings"})
        pack = await client.request("carrel/context", {**question, "pinned": [locks]})
        assert pack["hits"][0]["path"] == "kitchen/locks.py"
        assert pack["dropped"] == [] or all("outside" not in drop["reason"] for drop in pack["dropped"])
        lines = {"uri": locks, "startLine": 4, "endLine": 5}
        pack = await client.request("carrel/context", {**question, "attached": [lines]})
        assert [(hit["path"], hit["startLine"]) for hit in pack["hits"] if hit["attached"]] == [("kitchen/locks.py", 4)]
        without = {"exclude": ["kitchen/config.py"]}
        assert "kitchen/config.py" not in paths(await client.request("carrel/context", {**question, **without}))
        whole = {"excludeLines": [{"uri": config, "startLine": 1, "endLine": 3}]}
        found = paths(await client.request("carrel/context", {**question, **whole}))
        assert ("money/config.py" in found, "kitchen/config.py" in found) == (False, True)
        only = await client.request("carrel/search", {"query": "settings", "filters": {"pathGlob": "kitchen/*.py"}})
        assert {path.partition("/")[0] for path in paths(only)} == {"kitchen"}


async def test_the_audit_log_names_the_folders(start: Start, money: Path, kitchen: Path) -> None:
    async with start(money, kitchen, audit={"enabled": True}) as client:
        await client.request("carrel/context", explicit("exchange rate of a currency"))
        entries = (await client.request("carrel/audit", {"kind": "context"}))["entries"]
        assert entries[0]["details"]["folders"] == {"money": str(money), "kitchen": str(kitchen)}


async def test_a_status_of_no_folder_in_particular_says_which_others_have_no_index(
    start: Start, money: Path, kitchen: Path
) -> None:
    async with start(money, kitchen) as client:
        await client.request("carrel/index", {"workspaceFolder": path_to_uri(str(money))})
        status = await client.request("carrel/status", {})
        assert (status["name"], status["state"], status["problems"]) == ("money", "ready", ["kitchen isn't indexed yet."])
        await client.request("carrel/index", {"workspaceFolder": path_to_uri(str(kitchen))})
        assert not (await client.request("carrel/status", {}))["problems"]


async def test_a_folder_is_told_of_again_when_another_of_its_name_goes(start: Start, tmp_path: Path) -> None:
    roots = [write_files(tmp_path / color / "app", {"a.py": "def paint(wall):\n    return wall\n"}) for color in ("red", "blue")]
    async with start(*roots) as client:
        for root in roots:
            await client.request("carrel/index", {"workspaceFolder": path_to_uri(str(root))})
        await client.wait_for("carrel/statusChanged", lambda status: status["name"] == "red-app")
        gone = {"uri": path_to_uri(str(roots[1])), "name": "app"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [gone]}})
        await client.wait_for("carrel/statusChanged", lambda status: status["name"] == "app")


async def test_a_folder_has_nothing_of_the_one_around_it_but_what_that_ignores(
    start: Start, kitchen: Path, tmp_path: Path
) -> None:
    """The folder around may be one that nobody trusts: neither its settings nor its git configuration count inside."""
    ran = tmp_path / "ran"
    for words in (("init", "-q"), ("config", "core.fsmonitor", f"touch '{ran.as_posix()}'")):
        subprocess.run(["git", *words], cwd=kitchen, check=True)  # noqa: ASYNC221 - the server hasn't started
    inner = write_files(kitchen / "money", {"rates.py": RATES, "drafts.py": LOCKS})
    write_files(kitchen, {".carrel.toml": 'exclude = ["**"]\n', ".gitignore": "drafts.py\n"})
    async with start(inner) as client:
        await client.request("carrel/index", {})
        found = await client.request("carrel/search", {"query": "where is the exchange rate of a currency"})
        pack = await client.request(
            "carrel/context", explicit("what keeps kettles apart", pinned=[path_to_uri(str(kitchen / "locks.py"))])
        )
    assert found["hits"][0]["path"] == "rates.py"
    assert {*paths(pack)} <= {"rates.py"}, "what is outside is given to nobody who names it"
    assert not ran.exists()
