"""The index follows what people do: typing, saving, other tools, branches, settings, folders."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspClient
from tests.waiting import until

from carrel.frontends.common.uris import path_to_uri

pytestmark = pytest.mark.asyncio(loop_scope="module")

WATCHING = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}, "window": {"workDoneProgress": True}}


async def found(client: LspClient, query: str, **more: Any) -> list[str]:
    """Paths whose text holds the (single) word that is asked for."""
    result = await client.request("carrel/search", {"query": query, **more})
    return [hit["path"] for hit in result["hits"] if query.lower() in hit["text"].lower()]


async def eventually(client: LspClient, query: str, expected: list[str]) -> None:
    """Ask again until the answer is the expected one."""

    async def as_expected() -> bool:
        return await found(client, query) == expected

    await until(as_expected)


async def test_typing_is_searchable_before_it_is_saved(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        path = project / "src/auth.py"
        client.open(path, path.read_text())
        client.change(
            path, "def giraffe_feeder(amount):\n    # an unsaved thought about giraffes and hay\n    return amount * 2\n"
        )
        assert await found(client, "giraffe_feeder") == ["src/auth.py"]
        assert await found(client, "load_account") == []
        client.close(path)
        await eventually(client, "load_account", ["src/auth.py"])
        assert await found(client, "giraffe_feeder") == []


async def test_incremental_edits_are_applied(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        path = project / "src/pool.py"
        client.open(path, path.read_text())
        uri = path_to_uri(str(path))
        place = {"line": 1, "character": 8}
        edit = {"range": {"start": place, "end": {"line": 1, "character": 22}}, "text": "narwhal_setup"}
        client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [edit]})
        result = await client.request("carrel/search", {"query": "narwhal_setup"})
        assert "def narwhal_setup(self, size, timeout):" in result["hits"][0]["text"]


async def test_edits_land_where_the_editor_makes_them_whatever_the_file_holds(start: Start, project: Path) -> None:
    # The server always chooses UTF-16, also where a client would like another encoding better.
    offers = {"general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]}}
    async with start(project, capabilities=offers) as client:
        await client.request("carrel/index", {})
        path = project / "src/pool.py"
        client.open(path, "# \f \v \x1c \x85 \u2028\ndef pool():\n    return 'é😋' + size\n")
        place = {"line": 2, "character": 19}
        edit = {"range": {"start": place, "end": place}, "text": "narwhal_"}
        document = {"uri": path_to_uri(str(path)), "version": 2}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [edit]})
        result = await client.request("carrel/search", {"query": "narwhal_size"})
        assert "return 'é😋' + narwhal_size" in result["hits"][0]["text"]


async def test_a_saved_file_is_searchable_and_its_overlay_gone(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        path = project / "src/auth.py"
        client.open(path, path.read_text())
        text = "def okapi_counter(herd):\n    # counts every okapi of the herd once\n    return len(herd)\n"
        client.change(path, text)
        path.write_text(text)
        client.save(path)
        assert await found(client, "okapi_counter") == ["src/auth.py"]
        client.close(path)
        await eventually(client, "okapi_counter", ["src/auth.py"])


async def test_a_hit_is_reread_when_the_file_changed_unnoticed(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        path = project / "src/auth.py"
        path.write_text("# one more line at the top\n" + path.read_text())
        result = await client.request("carrel/search", {"query": "authenticate_user", "limit": 1})
        hit = result["hits"][0]
        lines = path.read_text().splitlines(keepends=True)
        assert hit["text"].rstrip("\n") == "".join(lines[hit["startLine"] - 1 : hit["endLine"]]).rstrip("\n")


async def test_the_editor_reports_changes_on_disk(start: Start, project: Path) -> None:
    async with start(project, capabilities=WATCHING) as client:
        registration = await client.wait_for("client/registerCapability")
        assert registration["registrations"][0]["method"] == "workspace/didChangeWatchedFiles"
        await client.request("carrel/index", {})
        new = project / "src/lemur.py"
        new.write_text("def lemur_jump(height):\n    # lemurs jump higher than this\n    return height + 3\n")
        client.files_changed((new, 1))
        await eventually(client, "lemur_jump", ["src/lemur.py"])
        moved = project / "src/ape.py"
        new.rename(moved)
        client.files_changed((new, 3), (moved, 1))
        await eventually(client, "lemur_jump", ["src/ape.py"])
        moved.unlink()
        client.files_changed((moved, 3))
        await eventually(client, "lemur_jump", [])


async def test_changes_on_disk_are_found_when_the_editor_tells_nothing(start: Start, project: Path) -> None:
    async with start(project, capabilities={}) as client:
        await client.request("carrel/index", {})
        (project / "src/tapir.py").write_text(
            "def tapir_swim(river):\n    # tapirs swim well in rivers\n    return river.cross()\n"
        )
        (project / "src/pool.py").unlink()
        await eventually(client, "tapir_swim", ["src/tapir.py"])
        await eventually(client, "configure_pool", [])


async def test_a_deleted_folder_and_a_new_ignore_rule_leave_the_index(start: Start, project: Path) -> None:
    async with start(project, capabilities=WATCHING) as client:
        await client.request("carrel/index", {})
        (project / ".gitignore").write_text("generated/\norders.py\n")
        client.files_changed((project / ".gitignore", 2))
        await eventually(client, "total_price", [])
        shutil.rmtree(project / "src")
        client.files_changed((project / "src", 3))
        await eventually(client, "configure_pool", [])


async def test_a_branch_switch(start: Start, project: Path, env: dict[str, str]) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True, env={**os.environ, **env})

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "shop")
    git("switch", "-q", "-c", "zoo")
    (project / "src/zoo.py").write_text(
        "def open_zoo(day):\n    # the zoo opens on every day but monday\n    return day != 'monday'\n"
    )
    (project / "src/auth.py").write_text(
        "def zoo_ticket(name):\n    # everybody may enter the zoo with a ticket\n    return name + ' may enter'\n"
    )
    git("add", "-A")
    git("commit", "-q", "-m", "zoo")
    async with start(project, capabilities={}) as client:
        await client.request("carrel/index", {})
        zoo = (await client.request("carrel/status", {}))["headSha"]
        assert await found(client, "zoo_ticket") == ["src/auth.py"]
        git("switch", "-q", "main")
        await eventually(client, "load_account", ["src/auth.py"])
        await eventually(client, "open_zoo", [])
        assert await found(client, "zoo_ticket") == []
        assert (await client.request("carrel/status", {}))["headSha"] not in (zoo, None)


async def test_settings_change_without_a_restart(start: Start, project: Path, options: dict[str, Any]) -> None:
    async with start(project, ragEnabled=False) as client:
        await client.request("carrel/index", {})
        assert (await client.request("carrel/context", {"query": "authenticate"}))["text"] == ""
        settings = {**options, "ragEnabled": True, "ragTopK": 1}
        client.notify("workspace/didChangeConfiguration", {"settings": {"carrel": settings}})
        pack = await client.request("carrel/context", {"query": "authenticate orders pool"})
        assert len(pack["hits"]) == 1
        client.notify("workspace/didChangeConfiguration", {"settings": {"carrel": {**settings, "exclude": ["auth.py"]}}})
        await eventually(client, "load_account", [])
        client.notify("workspace/didChangeConfiguration", {"settings": {"carrel": {**settings, "ragTopK": "many"}}})
        message = await client.wait_for("window/showMessage")
        assert "ragTopK" in message["message"]


async def test_other_chunks_are_cut_without_a_restart(start: Start, project: Path, options: dict[str, Any]) -> None:
    (project / "src/steps.py").write_text(
        "".join(f"def step_{n}():\n    return {n} + offset_of_giraffes\n\n\n" for n in range(30))
    )

    def places(result: dict[str, Any]) -> list[tuple[int, int]]:
        lines = [(hit["startLine"], hit["endLine"]) for hit in result["hits"] if hit["path"] == "src/steps.py"]
        return sorted(lines)

    async with start(project) as client:
        await client.request("carrel/index", {})
        question = {"query": "offset_of_giraffes", "limit": 20}
        assert all(end - start < 50 for start, end in places(await client.request("carrel/search", question)))
        settings = {**options, "chunking": "lines", "chunkLines": 100, "chunkOverlap": 0}
        client.notify("workspace/didChangeConfiguration", {"settings": {"carrel": settings}})

        async def as_set() -> bool:
            return places(await client.request("carrel/search", question)) == [(1, 98), (101, 118)]

        await until(as_set)


async def test_settings_are_pulled_where_the_client_wants_that(
    env: dict[str, str], options: dict[str, Any], project: Path
) -> None:
    client = await LspClient.spawn(env=env)
    sent: dict[str, Any] = {"ragEnabled": True}
    client.answers["workspace/configuration"] = lambda params: [dict(sent) for _ in params["items"]]
    await client.initialize(project, options=options, capabilities={"workspace": {"configuration": True}})
    await client.wait_for("workspace/configuration")
    await client.request("carrel/index", {})

    question = {"query": "authenticate user"}

    async def gives_context(expected: bool) -> None:
        async def as_expected() -> bool:
            return bool((await client.request("carrel/context", question))["text"]) is expected

        await until(as_expected)

    await gives_context(True)
    sent["ragEnabled"] = False
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    await gives_context(False)
    del sent["ragEnabled"]  # what a person takes out again counts as before: here, as `initialize` said
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    await gives_context(True)
    await client.stop()
    await client.kill()


async def test_what_the_editor_excludes_is_left_out_of_its_folder_from_the_next_question_on(
    env: dict[str, str], options: dict[str, Any], project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(project, other)
    excluded = {path_to_uri(str(project)): ["**/pool.py"]}

    def settings(params: Any) -> list[dict[str, Any]]:
        return [{"exclude": ["orders.py"], "editorExclude": excluded.get(i.get("scopeUri"), [])} for i in params["items"]]

    async def pools(folder: Path) -> list[str]:
        asked = {"query": "authenticate, configure_pool, orders", "limit": 20, "workspaceFolder": path_to_uri(str(folder))}
        return sorted({path for path in paths(await client.request("carrel/search", asked)) if not path.endswith("auth.py")})

    client = await LspClient.spawn(env=env)
    client.answers["workspace/configuration"] = settings
    first = {**options, "editorExclude": ["**/pool.py"]}  # for the moment until the server has asked
    await client.initialize(project, options=first, capabilities={"workspace": {"configuration": True}})
    await client.wait_for("workspace/configuration")
    assert "src/pool.py" not in await pools(project)
    # A folder that joins has settings of its own.
    folder = {"uri": path_to_uri(str(other)), "name": "other"}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
    await client.wait_for("workspace/configuration", lambda params: len(params["items"]) == 3)
    assert "src/pool.py" in await pools(other)
    assert "src/orders.py" not in await pools(other)  # beside a person's own patterns, not in place of them
    excluded.clear()
    excluded[path_to_uri(str(other))] = ["/src/"]
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    for _ in range(100):
        found = await pools(project), await pools(other)
        if "src/pool.py" in found[0] and not any(path.startswith("src/") for path in found[1]):
            break
        await asyncio.sleep(0.05)
    assert "src/pool.py" in found[0]
    assert not any(path.startswith("src/") for path in found[1])
    await client.stop()
    await client.kill()


async def test_a_workspace_file_can_only_switch_off(opened: Start, project: Path) -> None:
    (project / ".carrel.toml").write_text('ragEnabled = false\nragAutoIndex = true\nexclude = ["pool.py"]\n')
    async with opened(project) as client:
        message = await client.wait_for("window/showMessage")
        assert "ragAutoIndex" in message["message"]
        await client.request("carrel/index", {})
        assert (await client.request("carrel/context", {"query": "authenticate"}))["text"] == ""
        assert await found(client, "configure_pool") == []


async def test_folders_come_and_go(opened: Start, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "whale.py").write_text("def whale_song(pitch):\n    # whales sing very low and very far\n    return pitch / 100\n")
    async with opened(project) as client:
        folder = {"uri": path_to_uri(str(other)), "name": "other"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        assert await found(client, "whale_song", workspaceFolder=folder["uri"]) == ["whale.py"]
        assert await found(client, "whale_song") == ["other/whale.py"]
        assert await found(client, "whale_song", workspaceFolder=path_to_uri(str(project))) == []
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        pack = await client.request("carrel/context", {"query": "whale", "workspaceFolder": folder["uri"], "trigger": "explicit"})
        assert "open folder" in pack["error"]


async def test_auto_index_starts_by_itself(start: Start, project: Path) -> None:
    async with start(project, ragAutoIndex=True) as client:
        status = await client.wait_for("carrel/statusChanged", lambda status: status["state"] == "ready" and status["files"] == 5)
        assert status["role"] == "writer"


async def test_nothing_runs_while_everything_is_off(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project, ragEnabled=False, ragAutoIndex=False) as client:
        client.open(project / "src/auth.py", "def changed_but_never_indexed():\n    return 'nothing must happen now'\n")
        assert (await client.request("carrel/context", {"query": "q"}))["text"] == ""
        assert (await client.request("carrel/status", {}))["role"] == "closed"
        assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("whose", ["the folder's", "the user's"])
async def test_a_settings_file_counts_from_the_next_question_on_though_nobody_tells(
    start: Start, project: Path, env: dict[str, str], whose: str
) -> None:
    file = project / ".carrel.toml" if whose == "the folder's" else Path(env["XDG_CONFIG_HOME"]) / "carrel/settings.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    question = {"query": "authenticate user, price of orders"}
    async with start(project) as client:
        await client.request("carrel/index", {})
        assert "authenticate_user" in (await client.request("carrel/context", question))["text"]
        file.write_text('exclude = ["auth.py"]\n')
        pack = await client.request("carrel/context", question)
        assert "authenticate_user" not in pack["text"]
        assert "total_price" in pack["text"]
        assert "src/auth.py" not in paths(await client.request("carrel/search", {**question, "limit": 20}))
        file.unlink()
        await client.request("carrel/index", {})
        assert "authenticate_user" in (await client.request("carrel/context", question))["text"]


async def test_of_two_copies_the_one_that_is_meant_is_packed(start: Start, project: Path) -> None:
    for version in ("v1", "v2"):
        (project / "src" / version).mkdir()
        text = 'def stamp_parcel(weight):\n    """Stamp a parcel by its weight."""\n    return weight * 2\n'
        (project / "src" / version / "parcels.py").write_text(text)
    copies = ("src/v1/parcels.py", "src/v2/parcels.py")
    question = "how is a parcel stamped by its weight"
    async with start(project) as client:
        await client.request("carrel/index", {})
        for text, meant in ((question, copies[1]), (f"{question} in v1", copies[0])):
            pack = await client.request("carrel/context", {"query": text, "trigger": "explicit"})
            assert [hit["path"] for hit in pack["hits"] if hit["path"] in copies] == [meant]
            reasons = [drop["reason"] for drop in pack["dropped"] if drop["path"] in copies]
            assert reasons == [f"a copy or variant of {meant}:1-3"]
