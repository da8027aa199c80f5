"""Sources beside the workspace, as an editor sees them: folders of documents that the person named, and git history."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.documents import pdf, write_documents
from tests.e2e.conftest import Start, paths
from tests.e2e.test_chat import LENDS, PlayedModel, call
from tests.lsp_client import LspClient, LspError

PHOENIX = "restart the Phoenix server according to protocol"


def write_settings(env: dict[str, str], text: str) -> None:
    folder = Path(env["XDG_CONFIG_HOME"]) / "carrel"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.toml").write_text(text, "utf-8")


@pytest.fixture
def documents(tmp_path: Path, env: dict[str, str]) -> Path:
    folder = write_documents(tmp_path / "ops" / "runbooks", converted=False)
    write_settings(env, f"[sources.ops]\nfolder = '{folder}'\noutdatedAfterDays = 3000\n")
    return folder


async def found(client: LspClient, query: str, **more: Any) -> Any:
    return await client.request("carrel/search", {"query": query, "limit": 5, "waitMs": 60_000, **more})


async def test_the_runbook_comes_first(start: Start, project: Path, documents: Path) -> None:
    async with start(project) as client:
        result = await found(client, PHOENIX)
        hit = result["hits"][0]
        assert (hit["path"], hit["sourceId"], hit["version"]) == ("@ops/phoenix.md", "ops", "3")
        assert hit["uri"] == (documents / "phoenix.md").as_uri()
        assert hit["symbol"] == "Phoenix server > Restart protocol"
        assert "Take the host off the load balancer" in hit["text"]
        assert "updated 2026-05-04" in hit["note"]
        assert "@ops/archive/phoenix-v2.md" not in paths(result), "an older version is not given beside the newer one"
        assert [route["source"] for route in result["routes"]] == ["ops"]
        pack = await client.request("carrel/context", {"query": PHOENIX, "trigger": "explicit"})
        assert pack["text"].index('file="@ops/phoenix.md"') > 0
        assert 'note="version 3, updated 2026-05-04"' in pack["text"]


KINDS = (
    ("what does the vendor contract with Globex say about renewal", "@ops/vendor-contract.pdf", "renewed by legal"),
    ("according to policy when is parental leave requested", "@ops/leave.docx", "eight weeks ahead"),
    ("procedure when the Atlas cluster loses its leader", "@ops/atlas.html", "replica in Dublin"),
    ("who orders access cards during onboarding", "@ops/onboarding.txt", "facility management"),
)


async def test_every_kind_is_read(start: Start, project: Path, documents: Path) -> None:
    write_documents(documents)
    async with start(project) as client:
        for query, path, text in KINDS:
            hit = (await found(client, query))["hits"][0]
            assert hit["path"] == path
            assert text in hit["text"]
            assert "hidden_script" not in hit["text"]


async def test_secrets_are_masked_and_code_is_no_document(start: Start, project: Path, documents: Path) -> None:
    async with start(project) as client:
        result = await found(client, "deploy key rotation of the shop, never_indexed_here", sources=["ops"])
        told = str(result)
        assert "AKIAQYLPMN5HHHFPZAM2" not in told
        assert "[secret: " in told
        assert not any(path.endswith(".py") for path in paths(result))


async def test_a_changed_document_answers_as_it_is_and_an_ignored_one_not_at_all(
    start: Start, project: Path, documents: Path
) -> None:
    write_documents(documents)
    async with start(project) as client:
        await found(client, PHOENIX)
        (documents / "vendor-contract.pdf").write_bytes(pdf("The contract with Globex was given notice of by the wombat."))
        (documents / ".gitignore").write_text("leave.docx\n", "utf-8")
        for _ in range(100):
            result = await found(client, "contract with Globex, parental leave", sources=["ops"])
            told = "".join(hit["text"] for hit in result["hits"])
            if "wombat" in told:
                break
            await asyncio.sleep(0.1)
        assert "wombat" in told
        assert "renewed by legal" not in told
        assert "@ops/leave.docx" not in paths(result)


async def test_only_fresh_documents_are_given_where_that_is_asked_for(start: Start, project: Path, documents: Path) -> None:
    """A document's own day counts, else its file's time; ever so many old documents leave room for the fresh ones."""
    now = time.time()

    def write(name: str, day: float | None, file_time: float) -> None:
        said = f"updated_at: {datetime.fromtimestamp(now - day * 86_400, UTC):%Y-%m-%d}\n" if day is not None else ""
        path = documents / "zephyr" / name
        path.parent.mkdir(exist_ok=True)
        front = f"---\ntitle: {name}\n{said}---\n"
        path.write_text(f"{front}# Zephyr gateway\n\nDrain the Zephyr gateway according to protocol, says {name}.\n", "utf-8")
        os.utime(path, (now - file_time * 86_400,) * 2)

    for number in range(25):
        write(f"{'abcdefghijklmnopqrstuvwxyz'[number]}-said.md", 100, 0)
    write("recent.md", 10, 4000)
    write("undated-new.md", None, 10)
    write("undated-old.md", None, 100)
    async with start(project) as client:
        asked = "drain the Zephyr gateway according to protocol"
        everything = await found(client, asked)
        assert len([path for path in paths(everything) if "zephyr" in path]) == 5
        fresh = await found(client, asked, filters={"maxAgeDays": 30})
        given = {path.rpartition("/")[2] for path in paths(fresh) if path.startswith("@ops/zephyr/")}
        assert given == {"recent.md", "undated-new.md"}
        pack = await client.request("carrel/context", {"query": asked, "trigger": "explicit", "filters": {"maxAgeDays": 30}})
        assert "@ops/zephyr/recent.md" in pack["text"]
        assert "-said.md" not in pack["text"]
        assert "undated-old.md" not in pack["text"]


async def test_sources_are_told_with_what_failed(start: Start, project: Path, documents: Path) -> None:
    write_documents(documents)
    async with start(project) as client:
        before = await client.request("carrel/sources", {})
        assert [(one["id"], one["state"], one["chunks"]) for one in before["sources"]] == [
            ("workspace", "empty", 0),
            ("ops", "empty", 0),
        ]
        await found(client, PHOENIX)
        told = (await client.request("carrel/sources", {}))["sources"][1]
        assert (told["kind"], told["state"], told["folder"]) == ("documents", "ready", str(documents))
        assert told["files"] == 7
        assert told["chunks"] >= 7
        assert [(file["path"], "broken.pdf" in file["reason"]) for file in told["failed"]] == [("broken.pdf", False)]


async def test_only_the_person_names_folders(start: Start, project: Path, tmp_path: Path) -> None:
    folder = write_documents(tmp_path / "elsewhere", converted=False)
    (project / ".carrel.toml").write_text(f"[sources.theirs]\nfolder = '{folder}'\n", "utf-8")
    async with start(project, sources={"editors": {"folder": str(folder)}}) as client:
        assert [one["id"] for one in (await client.request("carrel/sources", {}))["sources"]] == ["workspace"]
        result = await found(client, PHOENIX)
        assert "routes" not in result
        assert not any("phoenix" in path for path in paths(result))
        with pytest.raises(LspError, match="names no source"):
            await found(client, PHOENIX, sources=["theirs"])


async def test_a_question_for_code_waits_for_no_index_of_documents(start: Start, project: Path, documents: Path) -> None:
    async with start(project) as client:
        result = await found(client, "where is the function authenticate_user")
        assert [route["source"] for route in result["routes"]] == ["workspace", "ops"]
        assert result["hits"][0]["path"] == "src/auth.py"
        assert not any(path.startswith("@ops/") for path in paths(result))


def git(folder: Path, *arguments: str, **more: str) -> None:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    own = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **more}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=own)


def commit(folder: Path, message: str, day: int) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", message, GIT_COMMITTER_DATE=f"2026-03-{day:02}T10:00:00Z")


REASON = "The wombat import has rows without an owner; see INC-7."


async def test_history_says_why_and_when(start: Start, project: Path, env: dict[str, str]) -> None:
    git(project, "init", "--quiet")
    commit(project, "Add the shop", 2)
    auth = project / "src/auth.py"
    auth.write_text(auth.read_text().replace("row is not None and", "row and"), "utf-8")
    commit(project, f"Loosen the login check\n\n{REASON}\n\n# not a heading\n```\nopen fence", 3)
    write_settings(env, '[sources.history]\nkind = "git"\n')
    async with start(project) as client:
        result = await found(client, "why was the login check changed?")
        hit = result["hits"][0]
        assert (hit["path"], hit["sourceId"]) == ("@history/2026-03.md", "history")
        assert REASON in hit["text"]
        assert "by Ada" in hit["text"]
        assert "Files: src/auth.py" in hit["text"]
        assert [route["source"] for route in result["routes"]] == ["history"]
        blamed = await found(client, "authenticate_user", lastChange=True)
        assert blamed["hits"][0]["lastChange"]["subject"] == "Loosen the login check"
        (project / "src/pool.py").unlink()
        commit(project, "Remove the pool of connections", 4)
        for _ in range(100):
            result = await found(client, "when was the pool removed?")
            if "Remove the pool" in str(result["hits"]):
                break
            await asyncio.sleep(0.1)
        assert "Remove the pool of connections" in result["hits"][0]["text"]


PROTOCOLS = """Restarting servers

Before any of our servers is restarted, it is taken off the load balancer:
1. Take the server off the load balancer.
2. Restart the server.
3. Put the server on the load balancer again.
This holds for Phoenix, Atlas and every other server of the shop.
"""
TOOLS = """def restart_server(hostname):
    '''Restart a server such as Phoenix.'''
    return run_on(hostname, "reboot")


def load_balancer(hostname, enabled):
    '''Put a server on the load balancer, or take it off.'''
    return balancer.switch(hostname, enabled)
"""


async def test_a_runbook_in_the_workspace_comes_first_too(start: Start, project: Path) -> None:
    (project / "protocols.txt").write_text(PROTOCOLS, "utf-8")
    (project / "src/tools.py").write_text(TOOLS, "utf-8")
    async with start(project) as client:
        for query in (PHOENIX, "restart Phoenix server according to our protocol"):
            result = await found(client, query)
            assert paths(result)[0] == "protocols.txt", paths(result)
            assert "routes" not in result


async def test_a_chat_searches_the_documents_and_cites_them(start: Start, project: Path, documents: Path) -> None:
    async with start(project, capabilities=LENDS, ragEnabled=False) as client:
        await found(client, PHOENIX)
        answer = "Take the host off the load balancer first (@ops/phoenix.md:12-14)."
        model = PlayedModel(client, call("search_knowledge_base", query=PHOENIX), answer)
        question = {"messages": [{"role": "user", "content": "Where is authenticate_user used?"}], "modelToken": "m"}
        result = await client.request("carrel/chat", question)
        assert result["text"] == answer
        [citation] = result["citations"]
        assert (citation["path"], citation["ok"]) == ("@ops/phoenix.md", True)
        assert citation["uri"] == (documents / "phoenix.md").as_uri()
        assert model.last.startswith("File: @ops/phoenix.md:")


ASKS = {"experimental": {"carrel": {"confirm": True}}}


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_person_adds_and_removes_a_source_in_the_editor(
    start: Start, project: Path, tmp_path: Path, env: dict[str, str], allowed: bool
) -> None:
    folder = write_documents(tmp_path / "elsewhere", converted=False)
    settings = Path(env["XDG_CONFIG_HOME"]) / "carrel" / "settings.toml"
    async with start(project, capabilities=ASKS) as client:
        asked: list[Any] = []

        def answer(params: Any) -> Any:
            asked.append(params)
            return {"allowed": allowed}

        client.answers["carrel/confirm"] = answer
        added = await client.request("carrel/sources/add", {"id": "ops", "place": str(folder), "description": "runbooks"})
        assert added["changed"] is allowed
        assert (asked[0]["what"], asked[0]["details"]["Place"]) == ("source", str(folder))
        assert settings.exists() is allowed
        names = [one["id"] for one in (await client.request("carrel/sources", {}))["sources"]]
        if not allowed:
            assert names == ["workspace"]
            assert f"carrel sources add ops {folder}" in added["problem"]
            return
        assert names == ["workspace", "ops"]
        assert (await found(client, PHOENIX))["hits"][0]["path"] == "@ops/phoenix.md"
        removed = await client.request("carrel/sources/remove", {"id": "ops"})
        assert (removed["changed"], removed["file"]) == (True, str(settings))
        assert [one["id"] for one in (await client.request("carrel/sources", {}))["sources"]] == ["workspace"]


async def test_nobody_is_asked_about_a_source_that_can_not_be(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project, capabilities=ASKS) as client:
        client.answers["carrel/confirm"] = lambda _: pytest.fail("asked")
        for params, reason in [
            ({"id": "ops", "place": "docs"}, "no absolute path"),
            ({"id": "ops", "place": str(tmp_path / "missing")}, "is no folder"),
            ({"id": "Ops!", "place": str(tmp_path)}, "can't be the id of a source"),
            ({"id": "wiki", "place": "mcp://wiki"}, "there is no MCP server 'wiki'"),
            ({"id": "billing", "place": "qdrant://"}, "qdrant://"),
        ]:
            with pytest.raises(LspError, match=reason):
                await client.request("carrel/sources/add", params)
        with pytest.raises(LspError, match="is no source; there are none"):
            await client.request("carrel/sources/remove", {"id": "ops"})


async def test_a_client_that_asks_nobody_changes_no_source(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project) as client:
        added = await client.request(
            "carrel/sources/add", {"id": "ops", "place": str(write_documents(tmp_path / "elsewhere", converted=False))}
        )
        assert (added["changed"], "in a terminal" in added["problem"]) == (False, True)
        assert [one["id"] for one in (await client.request("carrel/sources", {}))["sources"]] == ["workspace"]
