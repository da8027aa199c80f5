"""Index, search, context and the rest, as an editor sees them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspError
from tests.shop import write_many

from carrel.frontends.common.uris import path_to_uri

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_index_reports_progress_in_files(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        report = await client.request("carrel/index", {"workDoneToken": "bar"})
        assert (report["added"], report["changed"], report["removed"], report["failed"]) == (5, 0, 0, 0)
        values = [params["value"] for method, params in client.notifications if method == "$/progress"]
        assert [values[0]["kind"], values[-1]["kind"]] == ["begin", "end"]
        assert values[-2]["message"] == "5/5 files"
        again = await client.request("carrel/index", {})
        assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 5)
        status = await client.request("carrel/status", {})
        assert (status["state"], status["files"], status["role"], status["pending"]) == ("ready", 5, "writer", 0)
        assert status["languages"] == {"python": 3, "markdown": 1, "other": 1}
        assert status["bytes"] > 0
        assert status["lastIndexed"].endswith("Z")


async def test_force_reads_everything_again(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        report = await client.request("carrel/index", {"force": True})
        assert report["added"] + report["changed"] == 5
        assert report["chunks"] > 0


async def test_search_finds_code_by_words(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        result = await client.request("carrel/search", {"query": "how does login work? authenticate user", "limit": 3})
        hit = result["hits"][0]
        assert hit["path"] == "src/auth.py"
        assert hit["uri"] == path_to_uri(str(project / "src/auth.py"))
        assert 0 <= hit["score"] <= 1
        assert "load_account" in hit["text"]
        assert hit["range"]["start"]["line"] == hit["startLine"] - 1
        assert result["state"] == "ready"


async def test_what_was_said_and_what_is_selected_say_what_is_asked_for(opened: Start, project: Path) -> None:
    said = [{"role": "user", "content": "how does login work?"}, {"role": "assistant", "content": "`login` in `src/auth.py`."}]
    uri = path_to_uri(str(project / "src/auth.py"))
    first_line = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
    async with opened(project) as client:
        for method, more in (("carrel/search", {}), ("carrel/context", {"trigger": "explicit"})):
            alone = await client.request(method, {"query": "and where is it?", **more})
            found = await client.request(method, {"query": "and where is it?", "history": said, **more})
            assert ("rewritten" in alone, found["rewritten"]) == (False, "and where is it? login work")
            assert "src/auth.py" in [hit["path"] for hit in found["hits"]]
            active = {"uri": uri, "selection": first_line}
            front = await client.request(method, {"query": "explain the selected lines", "active": active, **more})
            assert front["hits"][0]["path"] == "src/auth.py"
            assert front["hits"][0]["startLine"] == 1


async def test_where_nothing_answers_nothing_is_sent(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        pack = await client.request("carrel/context", {"query": "hello!", "trigger": "explicit"})
        assert (pack["confidence"], pack["text"], pack["hits"], "error" in pack) == (0, "", [], False)
        told = await client.request("carrel/context", {"query": "hello!", "trigger": "explicit", "format": "tool"})
        assert told["text"] == "No relevant code found."
        turn = await client.request("carrel/augment", {"text": "hello!"})
        assert turn["text"] == "hello!"
        pinned = await client.request(
            "carrel/context", {"query": "hello!", "pinned": [path_to_uri(str(project / "src/auth.py"))]}
        )
        assert {hit["path"] for hit in pinned["hits"]} == {"src/auth.py"}, "and nothing that merely came along"
        found = await client.request("carrel/search", {"query": "how does login work? authenticate user"})
        assert found["confidence"] > 0.5


async def test_filters_hold(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        only_docs = await client.request("carrel/search", {"query": "orders pooled logins", "filters": {"sources": ["docs"]}})
        assert set(paths(only_docs)) == {"README.md"}
        by_path = await client.request(
            "carrel/search", {"query": "orders price pool login", "filters": {"pathGlob": "src/o*.py"}}
        )
        assert set(paths(by_path)) == {"src/orders.py"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"language": "markdown"}, {"README.md"}),
        ({"path": ["src/pool.py", "README.md"], "source": "code"}, {"src/pool.py"}),
        ({"kind": "class", "symbol": "DatabaseConnection"}, {"src/pool.py"}),
        ({"kind": "no such kind"}, set()),
        ({"kind": None}, {"README.md", "src/auth.py", "src/orders.py", "src/pool.py"}),
    ],
)
async def test_metadata_holds_in_every_answer(opened: Start, project: Path, metadata: dict[str, Any], expected: set[str]) -> None:
    asked = {"query": "orders price pool login", "filters": {"metadata": metadata}, "trigger": "explicit"}
    async with opened(project) as client:
        await client.request("carrel/index", {})
        assert set(paths(await client.request("carrel/search", asked))) == expected
        assert set(paths(await client.request("carrel/context", asked))) == expected
        files = await client.request("carrel/files", asked)
        assert {file["path"] for file in files["files"]} == expected


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("carrel/search", {"filters": {"pathGlob": "a["}}, "filters.pathGlob"),
        ("carrel/files", {"filters": {"languages": ["klingon"]}}, "filters.languages"),
        ("carrel/context", {"exclude": ["a.py", "{b"]}, "exclude"),
        ("carrel/search", {"filters": {"metadata": {"colour": "red"}}}, "filters.metadata"),
        ("carrel/context", {"filters": {"metadata": {"language": "klingon"}}}, "filters.metadata"),
        ("carrel/files", {"filters": {"metadata": {"kind": 7}}}, "filters.metadata"),
    ],
)
async def test_a_filter_that_is_none_is_named_as_it_was_sent(
    opened: Start, project: Path, method: str, params: dict[str, Any], field: str
) -> None:
    async with opened(project) as client:
        with pytest.raises(LspError, match=f"^{field}: ") as caught:
            await client.request(method, {"query": "login", **params})
        assert (caught.value.code, caught.value.data["field"]) == (-32602, field)


async def test_what_is_ignored_or_secret_is_never_found(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        result = await client.request(
            "carrel/search", {"query": "generated_wombat DATABASE_PASSWORD hunter2hunter2", "limit": 50}
        )
        assert not {"generated/out.py", ".env"} & set(paths(result))
        assert "hunter2" not in str(result)


async def test_a_chat_turn_gets_nothing_while_retrieval_is_off(start: Start, project: Path) -> None:
    async with start(project, ragEnabled=False) as client:
        await client.request("carrel/index", {})
        chat = await client.request("carrel/context", {"query": "authenticate user"})
        assert (chat["text"], chat["hits"], chat.get("error")) == ("", [], None)
        explicit = await client.request("carrel/context", {"query": "authenticate user", "trigger": "explicit"})
        assert "authenticate_user" in explicit["text"]


async def test_context_stays_within_its_budget(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        for chars in (1, 60, 200, 400, 4000):
            pack = await client.request("carrel/context", {"query": "order total price pool", "budget": {"chars": chars}})
            assert len(pack["text"]) <= chars
            assert pack["budgetChars"] == chars
        pack = await client.request(
            "carrel/context", {"query": "order total price pool", "budget": {"tokens": 120}, "model": "gpt-4o"}
        )
        assert 0 < pack["tokens"] <= pack["budgetTokens"] == 120
        assert pack["text"].startswith("<rag_context>")


async def test_augment_puts_the_context_first_and_keeps_commands_in_front(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        text = "/explain how is a user authenticated?"
        result = await client.request("carrel/augment", {"text": text})
        assert result["text"].startswith("/explain <rag_context>")
        assert result["text"].endswith("\n\nhow is a user authenticated?")
        assert result["original"] == text


async def test_places_that_were_left_out_stay_out_and_the_rest_of_their_file_may_come(opened: Start, project: Path) -> None:
    (project / "src/two.py").write_text(
        'def stamp_parcel(weight):\n    """Stamp a parcel by its weight."""\n    first = weight * 2\n    return first + 1\n\n'
        'def stamp_letter(weight):\n    """Stamp a letter by its weight."""\n    second = weight * 3\n    return second + 2\n'
    )
    uri = path_to_uri(str(project / "src/two.py"))
    question = {"query": "how is a parcel or a letter stamped by its weight", "trigger": "explicit"}
    async with opened(project) as client:
        whole = (await client.request("carrel/context", question))["text"]
        assert "first = weight" in whole
        assert "second = weight" in whole
        for more in ({}, {"pinned": [uri]}):
            lines = [{"uri": uri, "startLine": 3, "endLine": 3}, {"uri": "file:///elsewhere.py", "startLine": 1, "endLine": 9}]
            pack = await client.request("carrel/context", {**question, **more, "excludeLines": lines})
            assert "first = weight" not in pack["text"]
            assert "second = weight" in pack["text"]
            assert {"path": "src/two.py", "startLine": 1, "reason": "left out of this question"}.items() <= pack["dropped"][
                0
            ].items()
            gone = await client.request("carrel/context", {**question, **more, "exclude": ["src/two.py"]})
            assert "weight" not in gone["text"]
        with pytest.raises(LspError, match="endLine comes before startLine"):
            await client.request("carrel/context", {**question, "excludeLines": [{"uri": uri, "startLine": 3, "endLine": 1}]})


async def test_what_the_person_chose_is_given_once_and_first_whatever_is_asked(opened: Start, project: Path) -> None:
    uri = path_to_uri(str(project / "src/auth.py"))
    (project / "src/long.py").write_text("def long():\n" + "".join(f"    step({line})\n" for line in range(2, 300)))
    lines = len((project / "src/auth.py").read_text().splitlines())
    selection = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    chosen = {"active": {"uri": uri, "selection": selection}, "attached": [{"uri": uri, "startLine": 2, "endLine": 2}]}
    ask = {"query": "how is the price of an order summed up?", "trigger": "explicit"}
    async with opened(project) as client:
        await client.request("carrel/index", {})
        for budget in ({"chars": 4_000}, {"chars": 330}, {"tokens": 90}):
            pack = await client.request("carrel/context", {**ask, **chosen, "budget": budget, "topK": 1})
            first = pack["hits"][0]
            assert (first["path"], first["attached"], first["score"]) == ("src/auth.py", True, 1.0)
            assert (first["startLine"], first["endLine"]) == (2, 2)
            assert pack["text"].startswith('<rag_context>\n<code_context file="src/auth.py" lines="2-2"')
            assert pack["text"].count((project / "src/auth.py").read_text().splitlines()[1].strip()) == 1
        whole = await client.request("carrel/context", {**ask, **chosen, "topK": 1})
        assert [hit["attached"] for hit in whole["hits"]] == [True, False]
        long = path_to_uri(str(project / "src/long.py"))
        for start_line, end_line in ((150, 152), (2, 240)):
            place = [{"uri": long, "startLine": start_line, "endLine": end_line}]
            pack = await client.request("carrel/context", {**ask, "attached": place, "budget": {"chars": 1_500}})
            assert pack["hits"][0]["path"] == "src/long.py"
            assert f"step({start_line})" in pack["text"]
            assert len(pack["text"]) <= 1_500
        bad = [(".env", 1, 1), ("src/auth.py", 1, lines + 50)]
        places = [{"uri": path_to_uri(str(project / name)), "startLine": a, "endLine": b} for name, a, b in bad]
        refused = await client.request("carrel/context", {**ask, "attached": places})
        told = {drop["path"]: drop["reason"] for drop in refused["dropped"]}
        assert told[".env"] == "secret"
        assert told["src/auth.py"] == f"the file ends at line {lines}"
        assert (refused["hits"][0]["startLine"], refused["hits"][0]["endLine"]) == (1, lines)
        gone = [{"uri": uri, "startLine": lines + 1, "endLine": lines + 9}]
        nothing = await client.request("carrel/context", {**ask, "attached": gone})
        assert "has fewer lines" in next(drop["reason"] for drop in nothing["dropped"] if drop["path"] == "src/auth.py")
        assert "hunter2" not in refused["text"]
        for more in ({"exclude": ["src/auth.py"]}, {"excludeLines": [{"uri": uri, "startLine": 2, "endLine": 2}]}):
            without = await client.request("carrel/context", {**ask, **chosen, **more})
            assert not any(hit["attached"] for hit in without["hits"])


async def test_a_file_is_pinned_whatever_its_name_is(opened: Start, project: Path) -> None:
    names = ["wow!.md", "a,b.md", "[x] {y,z} *?.md", "b\\a.md"] if os.name == "posix" else ["wow!.md", "a,b.md", "[x] {y,z}.md"]
    for name in names:
        (project / name).write_text("Whatever an albatross eats in winter, nobody knows.\n")
    async with opened(project) as client:
        await client.request("carrel/index", {})
        for name in names:
            pinned = [path_to_uri(str(project / name))]
            pack = await client.request("carrel/context", {"query": "pool", "pinned": pinned, "trigger": "explicit"})
            assert (pack.get("error"), pack["hits"][0]["path"]) == (None, name)


async def test_named_files_pass_the_gate(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        uris = [path_to_uri(str(project / name)) for name in (".env", "generated/out.py", "src/pool.py")]
        pack = await client.request(
            "carrel/context", {"query": "pool", "pinned": [*uris, "file:///etc/passwd"], "active": {"uri": "untitled:1"}}
        )
        refused = {drop["path"]: drop["reason"] for drop in pack["dropped"] if drop["endLine"] == 0}
        assert refused[".env"] == "secret"
        assert refused["generated/out.py"] == "ignored"
        assert refused["file:///etc/passwd"] == refused["untitled:1"] == "outside the workspace"
        assert "src/pool.py" not in refused


async def test_an_explicit_question_makes_the_first_index_a_chat_turn_does_not(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        chat = await client.request("carrel/context", {"query": "authenticate user"})
        assert chat["text"] == ""
        explicit = await client.request("carrel/context", {"query": "authenticate user", "trigger": "explicit"})
        assert "authenticate_user" in explicit["text"]


async def test_a_deadline_is_kept(start: Start, tmp_path: Path) -> None:
    root = tmp_path / "big"
    write_many(root, 800, 200)
    async with start(root) as client:
        asked = {"query": "function_1_1", "trigger": "explicit", "deadlineMs": 50, "waitMs": 10_000}
        pack = await client.request("carrel/context", asked)
        assert pack["text"] == ""
        assert "50 ms" in pack["error"]


async def test_context_outside_any_folder_is_an_empty_pack_with_a_reason(start: Start) -> None:
    async with start() as client:
        pack = await client.request("carrel/context", {"query": "q", "trigger": "explicit"})
        assert (pack["text"], pack["hits"]) == ("", [])
        assert "folder" in pack["error"]


async def test_explain_tells_of_packs_and_lines(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        pack = await client.request("carrel/context", {"query": "authenticate user login", "trigger": "explicit"})
        story = await client.request("carrel/explain", {"packId": pack["id"]})
        assert story["candidates"][0]["path"] == "src/auth.py"
        line = await client.request("carrel/explain", {"query": "authenticate user login", "path": "src/auth.py", "line": 1})
        assert line["candidates"][0]["rank"] == 1
        secret = await client.request("carrel/explain", {"query": "password", "path": ".env", "line": 1})
        assert "secret" in secret["candidates"][0]["verdict"]
        with pytest.raises(LspError):
            await client.request("carrel/explain", {"packId": "never made"})


async def test_files_and_commands(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        files = await client.request("carrel/files", {"query": "database connection pool size", "limit": 2})
        assert files["files"][0]["path"] == "src/pool.py"
        command = {"command": "carrel.search", "arguments": [{"query": "authenticate user", "limit": 1}]}
        assert paths(await client.request("workspace/executeCommand", command)) == ["src/auth.py"]


async def test_code_that_is_asked_about_first_of_all_is_found(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        result = await client.request("carrel/explain", {"query": "price", "path": "src/orders.py", "line": 1})
        assert "given" in result["candidates"][0]["verdict"]


async def test_clear_deletes_the_index(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        assert (await client.request("carrel/clear", {}))["freedBytes"] > 0
        status = await client.request("carrel/status", {})
        assert (status["files"], status["state"]) == (0, "empty")
        assert (await client.request("carrel/index", {}))["added"] == 5


async def test_unsaved_text_is_no_index(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        file = project / "src" / "orders.py"
        document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": file.read_text() + "\nUNSAVED = True\n"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        await client.request("carrel/clear", {})
        for _ in range(50):  # the document is taken in meanwhile; a question would begin an index
            status = await client.request("carrel/status", {})
            assert (status["files"], status["chunks"], status["languages"], status["state"]) == (0, 0, {}, "empty")
            await asyncio.sleep(0.02)


async def test_a_cancelled_search_is_answered_once(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        answered: list[Any] = []
        take = client._take

        def counted(message: dict[str, Any]) -> None:
            answered.append(message.get("id"))
            take(message)

        client._take = counted  # type: ignore[method-assign]
        identity, search = client.send("carrel/search", {"query": "authenticate"})
        client.cancel(identity)
        with pytest.raises(LspError) as caught:
            await search
        assert caught.value.code == -32800
        assert paths(await client.request("carrel/search", {"query": "authenticate", "limit": 1})) == ["src/auth.py"]
        assert answered.count(identity) == 1


@pytest.mark.parametrize(
    "text", ["x" * 20_000_000, "authenticate user " + "!" * 10_000_000 + " w1 w2" * 1_500_000 + " login"], ids=["word", "paste"]
)
async def test_a_question_of_20_megabytes_is_answered(opened: Start, project: Path, text: str) -> None:
    async with opened(project) as client:
        await client.request("carrel/index", {})
        for method in ("carrel/search", "carrel/files", "carrel/context"):
            result = await client.request(
                method, {"query": text, **({"trigger": "explicit"} if method == "carrel/context" else {})}
            )
            assert result.get("error") is None
        augmented = await client.request("carrel/augment", {"text": text, "trigger": "explicit"})
        assert augmented["text"].endswith(text)


async def test_citations_of_an_answer_are_checked_against_its_pack(opened: Start, project: Path) -> None:
    async with opened(project) as client:
        pack = await client.request("carrel/context", {"query": "authenticate_user", "trigger": "explicit"})
        text = "See `src/auth.py:1-2`, and src/gone.py:7."
        found = (await client.request("carrel/citations", {"packId": pack["id"], "text": text}))["citations"]
        assert [(one["path"], one["ok"], one.get("reason")) for one in found] == [
            ("src/auth.py", True, None),
            ("src/gone.py", False, "the file was not given"),
        ]
        assert found[0]["uri"] == next(hit["uri"] for hit in pack["hits"] if hit["path"] == "src/auth.py")
        with pytest.raises(LspError, match="packId"):
            await client.request("carrel/citations", {"packId": "none", "text": text})
