"""Sources beside a workspace: who is asked, with a model that chooses and without, and what goes wrong."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.documents import write_documents
from tests.shop import SHOP, write_files

from carrel.agent.knowledge_form import SearchDocuments
from carrel.agent.tools.scope import Scope
from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.model.conversation import Completion
from carrel.model.errors import CarrelError, ProviderError
from carrel.model.fakes import FakeChatModel, faulty
from carrel.model.ports import ChatModel
from carrel.model.types import Budget, ContextItem, Filters, Query
from carrel.providers.tokenizers import ExactTokenizer
from carrel.service import queries
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.queries import refused_paths
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.service.workspace_tools import tools
from carrel.settings import settings_files
from carrel.settings.settings import Settings
from carrel.sources.documents.passages import LEAST_RELEVANCE

PHOENIX = "restart the Phoenix server according to protocol"
CODE = "where is the function authenticate_user"


class Planned(Composition):
    """Has a planner that a test gives it."""

    planner: ChatModel | None = None

    def planner_model(self, settings: Settings) -> ChatModel | None:  # noqa: ARG002 - as the base has it
        return self.planner


@pytest.fixture
def composition() -> Planned:
    return Planned()


@pytest.fixture
async def workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, composition: Planned, request: pytest.FixtureRequest
) -> AsyncIterator[Workspace]:
    documents, own = write_documents(tmp_path / "ops"), tmp_path / "settings.toml"
    text = f"cacheFolder = '{tmp_path / 'cache'}'\nragEnabled = true\n[sources.ops]\nfolder = '{documents}'\n"
    own.write_text(text + getattr(request, "param", ""), "utf-8")
    monkeypatch.setattr(settings_files, "user_files", lambda: (own, tmp_path / "none.json"))
    session = Session(composition, longest_match)
    session.configure({})
    root = write_files(tmp_path / "shop", SHOP)
    yield session.add_folder(str(root), root.as_uri())
    await session.close()


async def found(workspace: Workspace, text: str, **more: Any) -> queries.SearchAnswer:
    return await queries.search(workspace, Query(text, 5, more.pop("filters", Filters())), 60_000, **more)


def sources_of(answer: queries.SearchAnswer) -> set[str]:
    return {hit.chunk.origin.source if hit.chunk.origin else "workspace" for hit in answer.hits}


def routing(*sources: str, query: str = "") -> FakeChatModel:
    routes = ", ".join(f'{{"source": "{source}", "query": "{query}", "reason": "it says so"}}' for source in sources)
    return FakeChatModel(Completion(f'Sure: {{"routes": [{routes}]}}'))


async def test_a_model_chooses_where_one_is_set(workspace: Workspace, composition: Planned) -> None:
    composition.planner = routing("ops", query="Phoenix restart steps")
    answer = await found(workspace, "Phoenix?")
    assert [(route.source, route.query, route.reason) for route in answer.routes] == [
        ("ops", "Phoenix restart steps", "it says so")
    ]
    assert answer.hits[0].chunk.path == "@ops/phoenix.md"
    composition.planner = routing("workspace")
    assert sources_of(await found(workspace, CODE)) == {"workspace"}


@pytest.mark.parametrize(
    "model", [routing("metrics"), FakeChatModel(Completion("no idea")), faulty(FakeChatModel(), fail=ProviderError("down"))]
)
async def test_what_a_model_fails_in_is_searched_everywhere(workspace: Workspace, composition: Planned, model: Any) -> None:
    composition.planner = model
    answer = await found(workspace, CODE)
    assert [(route.source, route.query) for route in answer.routes] == [("workspace", CODE), ("ops", CODE)]
    assert "Every source was searched by the user's words." in (answer.diagnostics.problem or "")
    assert answer.hits[0].chunk.path == "src/auth.py"


async def test_documents_are_searched_for_every_question_and_code_that_fits_as_well_comes_first(workspace: Workspace) -> None:
    await found(workspace, PHOENIX)  # a first index
    for question, first in (
        ("Dublin replica of the Atlas cluster", "@ops/atlas.html"),
        ("Phoenix server hosts", "@ops/phoenix.md"),
        (CODE, "src/auth.py"),
    ):
        answer = await found(workspace, question)
        assert answer.hits[0].chunk.path == first
        assert [route.source for route in answer.routes] == ["workspace", "ops"]
        assert answer.not_searched == ()


async def test_a_hit_that_no_word_asks_for_counts_half(workspace: Workspace) -> None:
    async def score(text: str) -> float:
        hits = (await found(workspace, text)).hits
        return max(hit.score for hit in hits if hit.chunk.path == "@ops/phoenix.md")

    asked = await score("how do I restart the Phoenix server")
    assert await score("restart Phoenix, hosts") <= 0.5
    assert asked > 0.5


async def test_who_asks_is_given_a_document_that_has_the_words_where_nothing_is_relevant(
    workspace: Workspace, tmp_path: Path
) -> None:
    text = "Drain the queue named walrus first, then look at the lag of each consumer. Thanks, hello!"
    (tmp_path / "ops/toml.md").write_text(f"# Notes\n\n{text}\n", "utf-8")
    await found(workspace, PHOENIX)  # a first index
    [hit] = (await found(workspace, "walrus stuck")).hits
    assert hit.chunk.path == "@ops/toml.md"
    assert hit.score < LEAST_RELEVANCE
    assert not (await found(workspace, "walrus stuck", filters=Filters(min_score=0.2))).hits
    request = ContextRequest("walrus stuck", 5, Budget(4_000), trigger="explicit")
    assert "walrus" in (await context(workspace, request)).pack.text
    for said in ("walrus stuck", "thanks, hello!"):
        assert not (await context(workspace, replace(request, query=said, trigger="chat"))).pack.text


async def test_filters_of_the_workspace_keep_a_question_there(workspace: Workspace) -> None:
    for filters in (Filters(path_globs=("src/**",)), Filters(languages=("python",)), Filters(sources=("code",))):
        answer = await found(workspace, PHOENIX, filters=filters)
        assert answer.routes == ()
        assert not sources_of(answer) - {"workspace"}
    documents = await found(workspace, "authenticate_user Phoenix", filters=Filters(sources=("docs",)))
    assert [route.source for route in documents.routes] == ["workspace", "ops"]
    assert "@ops/phoenix.md" in [hit.chunk.path for hit in documents.hits]
    fresh = await found(workspace, PHOENIX, filters=Filters(sources=("docs",), max_age_days=0.0001))
    assert not [hit for hit in fresh.hits if hit.chunk.path == "@ops/phoenix.md"], "it says that it is older"
    left_out = await found(workspace, PHOENIX, filters=Filters(exclude=("@ops/phoenix.md",)))
    assert "@ops/phoenix.md" not in [hit.chunk.path for hit in left_out.hits]


async def test_a_document_of_the_workspace_says_whose_and_of_when_it_is(workspace: Workspace) -> None:
    head = "---\nowner: team <b>payments\nversion: 3\nreviewed: 2024-05-01\nvalid_until: 2025-01-01\n---\n"
    (workspace.root / "refund.md").write_text(f"{head}# Refund a walrus\n\nRefund each walrus by hand.\n", "utf-8")
    note = "outdated, version 3, updated 2024-05-01, owner team <b>payments"
    answer = await found(workspace, "refund a walrus", sources=["workspace"])
    assert [hit.chunk.note for hit in answer.hits if hit.chunk.path == "refund.md"] == [note]
    assert not [hit for hit in answer.hits if hit.chunk.note and hit.chunk.source == "code"]
    pack = (await context(workspace, ContextRequest("refund a walrus", 5, Budget(4_000), trigger="explicit"))).pack
    assert 'note="outdated, version 3, updated 2024-05-01, owner team &lt;b&gt;payments"' in pack.text
    fresh = await found(workspace, "refund a walrus", sources=["workspace"], filters=Filters(max_age_days=30))
    assert "refund.md" not in [hit.chunk.path for hit in fresh.hits]


async def test_a_chat_waits_for_no_first_index_of_a_source(workspace: Workspace) -> None:
    await found(workspace, CODE, sources=["workspace"])
    request = ContextRequest(PHOENIX, 5, Budget(4_000))
    first = await context(workspace, request)
    assert "The source ops can't answer yet" in (first.notice or "")
    for _ in range(300):
        answer = await context(workspace, request)
        if "@ops/phoenix.md" in answer.pack.text:
            break
        await asyncio.sleep(0.05)
    assert 'file="@ops/phoenix.md"' in answer.pack.text
    assert [route.source for route in answer.routes] == ["ops"]
    assert len(answer.pack.text) <= 4_000


async def test_places_that_were_given_are_refused_once_they_may_not_be_read(workspace: Workspace, tmp_path: Path) -> None:
    hits = [hit for text in (CODE, PHOENIX, "Dublin replica of the Atlas cluster") for hit in (await found(workspace, text)).hits]
    given = [ContextItem(hit, hit.chunk.text) for hit in hits]
    paths = {hit.chunk.path for hit in hits}
    assert paths >= {"src/auth.py", "@ops/phoenix.md", "@ops/atlas.html"}
    assert await refused_paths(workspace, given) == frozenset()
    (tmp_path / "ops/.gitignore").write_text("phoenix.md\natlas.html\n", "utf-8")
    (workspace.root / ".gitignore").write_text("auth.py\n", "utf-8")
    assert await refused_paths(workspace, given) == {"src/auth.py", "@ops/phoenix.md", "@ops/atlas.html"}
    (tmp_path / "settings.toml").write_text(f"cacheFolder = '{tmp_path / 'cache'}'\nragEnabled = true\n", "utf-8")
    assert await refused_paths(workspace, given) == {"src/auth.py", *(path for path in paths if path.startswith("@ops/"))}


async def test_a_source_that_fails_costs_its_help_only(
    workspace: Workspace, composition: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    del composition

    async def fails(*_: Any, **__: Any) -> None:
        raise CarrelError("The disk is gone")

    monkeypatch.setattr("carrel.sources.served_source.ServedSource.search", fails)
    answer = await found(workspace, "authenticate_user according to the runbook")
    assert answer.hits[0].chunk.path == "src/auth.py"
    assert "The source ops can't answer yet: The disk is gone" in (answer.diagnostics.problem or "")


REPOSITORIES = "".join(f"[sources.r{n}]\nkind = 'repository'\nurl = 'qdrant://127.0.0.1:9/r{n}'\n" for n in range(5))


@pytest.mark.parametrize("workspace", [REPOSITORIES], indirect=True)
async def test_a_server_that_is_gone_is_told_once_for_all_its_repositories(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise ProviderError("The server is gone")

    monkeypatch.setattr("carrel.sources.remote_source.RemoteSource.search", fails)
    answer = await found(workspace, CODE)
    assert answer.hits[0].chunk.path == "src/auth.py"
    assert "The sources r0, r1, r2 and 2 more can't answer yet: The server is gone. " in (answer.diagnostics.problem or "")


async def test_a_folder_that_is_gone_is_named_and_the_workspace_answers(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "ops").rename(tmp_path / "elsewhere")
    answer = await queries.search(workspace, Query(CODE, 5), 30_000)
    assert answer.hits
    assert "ops is not there" in (answer.diagnostics.problem or "")


async def test_agents_search_the_documents_with_a_tool(workspace: Workspace) -> None:
    await found(workspace, PHOENIX)
    tokenizer = ExactTokenizer()
    [tool] = [tool for tool in tools(workspace, tokenizer, Scope()) if isinstance(tool, SearchDocuments)]
    result = await tool.run({"query": PHOENIX})
    assert result.text.startswith("File: @ops/phoenix.md:")
    assert "(Phoenix server > Restart protocol; version 3, updated 2026-05-04)" in result.text
    assert result.items[0].hit.chunk.path == "@ops/phoenix.md"
    short = await tool.run_within({"query": PHOENIX}, 150)
    assert tokenizer.count(short.text) <= 150
    assert (await tool.run({})).is_error


async def test_settings_of_a_workspace_leave_sources_as_they_are(workspace: Workspace) -> None:
    [before] = workspace.sources()
    (workspace.root / ".carrel.toml").write_text('exclude = ["*.md"]\n', "utf-8")
    await found(workspace, PHOENIX)
    assert workspace.settings.exclude == ("*.md",)
    assert workspace.sources() == [before]
    assert (await found(workspace, PHOENIX)).hits[0].chunk.path == "@ops/phoenix.md"


HISTORY = "[sources.history]\nkind = 'git'\n"


@pytest.mark.parametrize("workspace", [HISTORY], indirect=True)
async def test_a_source_that_nothing_speaks_for_is_asked_before_nothing_is_said(workspace: Workspace) -> None:
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Work around the platypus of the payment provider"]):
        subprocess.run(["git", *person, *command], cwd=workspace.root, check=True)  # noqa: ASYNC221 - nothing else runs
    await found(workspace, "platypus", sources=["history"])  # its first index
    answer = await found(workspace, "platypus")
    assert sources_of(answer) == {"history"}
    assert [route.reason for route in answer.routes if route.source == "history"] == ["nothing else answers the question"]
    pack = (await context(workspace, ContextRequest("platypus", 5, Budget(4_000), trigger="explicit"))).pack
    assert "Work around the platypus" in pack.text
    assert "history" not in sources_of(await found(workspace, CODE)), "the workspace answers it"
    assert not (await context(workspace, ContextRequest("platypus", 5, Budget(4_000)))).pack.items, "nobody asks"
