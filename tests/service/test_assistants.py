"""Planning and reranking on a workspace: who asks for it, what a hang costs others, and what is told of it."""

# ruff: noqa: ARG002 - fakes take what the port gives them
from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.shop import write_files
from tests.support.planner_models import FAULTS, Planner
from tests.support.workspaces import Open, indexed

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.model.conversation import Message
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeReranker, faulty
from carrel.model.ports import ChatModel, Reranker, RerankerSpec
from carrel.model.types import Budget, Query
from carrel.service import group_context, queries
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.folder_group import FolderGroup, named
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.settings.model_settings import Models, ModelSettings
from carrel.settings.settings import Settings
from carrel.system.jobs import Jobs

TALK = (Message("user", "how is an order priced?"), Message("assistant", "By Order.total_price."))
ASKED = ContextRequest("and who checks that?", 3, Budget(2_000, "tokens"), trigger="explicit", history=TALK)


class Helped(Composition):
    """Has the models that a test gives it, or raises."""

    def __init__(
        self, planner: ChatModel | None = None, reranker: Reranker | None = None, fault: Exception | None = None
    ) -> None:
        super().__init__()
        self._models = planner, reranker
        self._fault = fault

    def planner_model(self, settings: Settings) -> ChatModel | None:
        if self._fault:
            raise self._fault
        return self._models[0]

    def reranker(self, settings: Settings) -> Reranker | None:
        return self._models[1]


class ByWord(FakeReranker):
    """Prefers what holds its word; `during` is done while it is asked."""

    def __init__(self, word: str, during: Any = lambda: None) -> None:
        super().__init__(RerankerSpec("by-word"))
        self._word, self._during, self.calls = word, during, 0

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.calls += 1
        self._during()
        return [0.9 if self._word in text else 0.2 for text in texts]


async def helped(open_workspace: Open, planner: Any = None, reranker: Any = None, **more: Any) -> Workspace:
    """Open a workspace whose models help where a request says so."""
    workspace = open_workspace(composition=Helped(planner, reranker, more.pop("fault", None)), **more)
    set_to(workspace, planner="never", rerank=False)
    return await indexed(workspace)


def set_to(workspace: Workspace, **values: Any) -> None:
    """Put settings in force."""
    folder = workspace._state.now.folder
    workspace._state.replace(folder=replace(folder, settings=dataclasses.replace(folder.settings, **values)))


async def test_a_planner_is_asked_where_the_setting_or_the_request_says_so(open_workspace: Open) -> None:
    model = Planner({"rewrite": "where is a login checked against the user table"})
    workspace = await helped(open_workspace, model)
    plain = await context(workspace, ASKED)
    assert (model.asked, plain.rewritten, plain.sub_queries) == ([], "and who checks that? total price", ())
    answer = await context(workspace, replace(ASKED, plan="auto"))
    assert answer.pack.items[0].hit.chunk.path == "src/auth.py"
    assert answer.rewritten == "where is a login checked against the user table"
    assert answer.pack.query == ASKED.query
    assert "plan" in answer.stages
    set_to(workspace, planner="auto")
    assert (await context(workspace, ASKED)).rewritten == answer.rewritten
    assert (await context(workspace, replace(ASKED, plan="never"))).pack.text == plain.pack.text
    assert model.asked == ["rewrite"] * 2
    found = await queries.search(workspace, Query(ASKED.query), 0, history=TALK)
    assert found.diagnostics.rewritten == answer.rewritten


async def test_models_that_are_set_help_unless_somebody_says_no(open_workspace: Open) -> None:
    composition = Helped(Planner({"rewrite": "where is a login checked"}), ByWord("small shop"))
    answer = await context(await indexed(open_workspace(composition=composition)), ASKED)
    assert answer.rewritten == "where is a login checked"
    assert all(item.hit.signals.rerank is not None for item in answer.pack.items)


async def test_with_everything_off_packs_are_the_same_byte_for_byte(open_workspace: Open) -> None:
    plain = await indexed(open_workspace("plain"))
    workspace = await helped(open_workspace, Planner({}), ByWord("order"))
    for asked in ("how is an order priced?", "compare the login and the price of an order", "total_price", "zzqx"):
        request = replace(ASKED, query=asked)
        one, other = await context(workspace, request), await context(plain, request)
        assert one.pack.text == other.pack.text
        assert one.stages.keys() == other.stages.keys()
        assert (one.notice, one.error) == (None, None)


async def test_without_a_model_nothing_changes_though_it_is_asked_for(open_workspace: Open) -> None:
    workspace = await helped(open_workspace)
    plain = await context(workspace, ASKED)
    answer = await context(workspace, replace(ASKED, plan="auto", rerank=True))
    assert (answer.pack.text, answer.notice) == (plain.pack.text, None)


async def test_a_model_that_can_not_be_made_costs_its_help_and_is_told(open_workspace: Open) -> None:
    workspace = await helped(open_workspace, fault=ProviderError("No key was found.", "Set CARREL_KEY."))
    plain = await context(workspace, ASKED)
    answer = await context(workspace, replace(ASKED, plan="auto"))
    assert (answer.pack.text, answer.notice) == (plain.pack.text, "No key was found. Set CARREL_KEY.")


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"hangs"}))
async def test_a_planner_that_fails_leaves_the_pack_as_it_was(open_workspace: Open, fault: str) -> None:
    workspace = await helped(open_workspace, FAULTS[fault]())
    plain = await context(workspace, ASKED)
    answer = await context(workspace, replace(ASKED, plan="auto"))
    assert (answer.pack.text, answer.error) == (plain.pack.text, None)
    assert "The user's words were searched for." in str(answer.notice)


async def test_hung_models_leave_every_other_question_as_it_was(open_workspace: Open) -> None:
    jobs, planner = Jobs(), Planner({})
    hung = await helped(open_workspace, planner, name="hung", jobs=jobs)
    quick = await indexed(open_workspace("quick", jobs=jobs))
    set_to(hung, planner_seconds=3_600.0)
    stuck = [asyncio.create_task(context(hung, replace(ASKED, plan="auto"))) for _ in range(8)]
    await planner.full(8)
    assert (await context(quick, replace(ASKED, query="total price of an order"))).pack.items
    assert (await context(hung, replace(ASKED, query="total price of an order"))).pack.items
    assert not any(task.done() for task in stuck)
    for task in stuck:
        task.cancel()
    assert all(isinstance(done, asyncio.CancelledError) for done in await asyncio.gather(*stuck, return_exceptions=True))


async def test_a_deadline_covers_models_that_hang(open_workspace: Open) -> None:
    workspace = await helped(open_workspace, Planner({}), faulty(FakeReranker(), hang=True))
    set_to(workspace, planner_seconds=60.0, reranker_seconds=60.0)
    answer = await context(workspace, replace(ASKED, plan="auto", rerank=True, deadline_ms=2_000))
    assert answer.pack.items
    assert answer.error is None
    assert "didn't answer" in str(answer.notice)
    assert "The hits stand in the order of the search." in str(answer.notice)


async def test_what_was_judged_is_told_and_explained(open_workspace: Open) -> None:
    reranker = ByWord("login")
    workspace = await helped(open_workspace, reranker=reranker)
    request = replace(ASKED, query="how is the login of a user checked?", limit=1, history=())
    answer = await context(workspace, replace(request, rerank=True))
    [item] = answer.pack.items
    assert (item.hit.chunk.path, item.hit.signals.rerank) == ("src/auth.py", 0.9)
    assert "reranker" in dict(item.hit.signals.boosts)
    assert "rerank" in answer.stages
    stored = workspace.recent.get(answer.pack.id)
    assert stored
    first, second = stored.candidates()[:2]
    assert (first.path, first.rank, first.rerank, first.verdict) == ("src/auth.py", 1, 0.9, "given, as number 1")
    assert (second.rank, second.rerank in (0.2, 0.9)) == (2, True)
    assert "number 2" in second.verdict
    set_to(workspace, rerank=True)
    assert (await queries.search(workspace, Query(request.query, 1), 0)).hits[0].signals.rerank == 0.9
    assert reranker.calls == 2


async def test_texts_are_read_again_after_they_were_judged(open_workspace: Open) -> None:
    def edit() -> None:
        write_files(workspace.root, {"README.md": "# Shop\n\nA small shop. Logins are now checked twice.\n"})

    workspace = await helped(open_workspace, reranker=ByWord("small shop", edit))
    answer = await context(workspace, replace(ASKED, query="how is the login of a user checked?", rerank=True))
    assert "Logins are now checked twice." in answer.pack.text
    assert "connections are pooled" not in answer.pack.text


async def test_editors_ask_for_it_and_are_told(open_workspace: Open) -> None:
    model = Planner({"rewrite": "login checked against the user table", "divide": '{"queries": ["login check", "order price"]}'})
    workspace = await helped(open_workspace, model, ByWord("authenticate_user"))
    session = Session(workspace.composition, longest_match)
    session.recent = workspace.recent
    session.folders[str(workspace.root)] = workspace
    commands = Commands(session, None)
    turns = [{"role": "user", "content": "how is an order priced?"}, {"role": "narrator", "content": "It is night."}]
    asked = {"query": ASKED.query, "history": turns, "plan": "auto", "rerank": True, "trigger": "explicit"}
    pack = await commands.context(asked)
    assert pack.rewritten == "login checked against the user table"
    assert (pack.hits[0].path, pack.hits[0].signals.rerank) == ("src/auth.py", 0.9)
    assert "night" not in model.seen[0]
    told = await commands.explain({"packId": pack.id})
    assert told["candidates"][0]["rerank"] == 0.9
    augmented = await commands.augment({"text": "/fix compare the login and the price", "plan": "auto", "trigger": "explicit"})
    assert augmented.pack.sub_queries == ("login check", "order price")
    found = await commands.search(asked)
    assert (found.rewritten, found.plan["reranker"]) == (pack.rewritten, "by-word")
    session.folders.clear()
    session.jobs.close()


async def test_a_planner_is_asked_once_for_all_folders(open_workspace: Open) -> None:
    planner = Planner({"rewrite": "Order.validate"})
    composition = Helped(planner)
    folders = [await indexed(open_workspace(name, composition=composition)) for name in ("one", "two", "three")]
    for folder in folders:
        set_to(folder, planner="never", rerank=False)
    planner.asked.clear()
    alone = await context(folders[0], replace(ASKED, plan="auto"))
    asked, planner.asked = planner.asked, []
    assert asked
    group = FolderGroup(named(folders), folders[0], longest_match)
    request = replace(ASKED, plan="auto")
    together = await group_context.context(group, dict.fromkeys(group.folders, request))
    assert planner.asked == asked
    assert together.rewritten == alone.rewritten
    found = await queries.search(group, Query(ASKED.query, 3), 0, history=TALK, plan="auto")
    assert len(planner.asked) == 2 * len(asked)
    assert {hit.chunk.folder for hit in found.hits} == {"one", "two", "three"}


class WithChat(Helped):
    """Has a chat model that is set, and none for planning."""

    def __init__(self, chat: ChatModel) -> None:
        super().__init__()
        self.chat = chat

    def chat_model(self, settings: Settings, name: str | None = None) -> ChatModel:
        return self.chat


VAGUE = replace(ASKED, query="who is let through the door?", history=())
SAID = "authenticate_user: how a login is checked"
CHAT = Models(chat=ModelSettings(provider="ollama", model="small"))


async def test_where_no_planner_is_set_the_chat_model_is_asked_once_where_the_search_is_unsure(open_workspace: Open) -> None:
    model = Planner({"rewrite": SAID})
    workspace = await indexed(open_workspace(composition=WithChat(model)))
    alone = await context(workspace, VAGUE)
    assert model.asked == [], "no chat model is set"
    set_to(workspace, models=CHAT)
    helped = await context(workspace, VAGUE)
    assert (helped.rewritten, model.asked) == (SAID, ["rewrite"])
    assert "authenticate_user" in helped.pack.text
    assert (await context(workspace, replace(VAGUE, plan="never"))).pack.text == alone.pack.text
    await context(workspace, replace(VAGUE, query="authenticate_user"))
    await queries.search(workspace, Query(VAGUE.query), 0)  # may follow what is typed
    await context(workspace, replace(VAGUE, query="compare the login and the price of an order"))
    assert model.asked == ["rewrite"], "a model that isn't set for planning plans nothing"
    set_to(workspace, planner="never")
    await context(workspace, VAGUE)
    assert model.asked == ["rewrite"]
    set_to(workspace, planner="always")
    await context(workspace, replace(VAGUE, query="authenticate_user"))
    assert model.asked == ["rewrite"] * 2


async def test_the_chat_model_at_hand_goes_before_the_one_that_is_set_and_a_planner_before_both(open_workspace: Open) -> None:
    lent, chat, planner = (Planner({"rewrite": SAID}) for _ in range(3))
    workspace = await indexed(open_workspace(composition=WithChat(chat)))
    set_to(workspace, models=CHAT)
    await context(workspace, replace(VAGUE, lent=lent))
    assert (lent.asked, chat.asked) == (["rewrite"], [])
    other = await indexed(open_workspace("other", composition=Helped(planner)))
    planner.asked.clear()
    await context(other, replace(VAGUE, lent=lent))
    assert (lent.asked, sorted(planner.asked)) == (["rewrite"], ["imagine", "rewrite"])


@pytest.mark.parametrize("fault", ["raises", "raises something else", "says nothing", "refuses"])
async def test_a_fault_of_a_chat_model_leaves_the_same_pack_and_is_told(open_workspace: Open, fault: str) -> None:
    workspace = await indexed(open_workspace())
    alone = await context(workspace, VAGUE)
    answer = await context(workspace, replace(VAGUE, lent=FAULTS[fault]()))
    assert (answer.pack.text, answer.rewritten) == (alone.pack.text, alone.rewritten)
    assert "The user's words were searched for." in str(answer.notice)


async def test_a_model_at_hand_without_time_is_not_asked_and_nothing_is_told(open_workspace: Open) -> None:
    model = Planner({"rewrite": SAID})
    workspace = await indexed(open_workspace())
    answer = await context(workspace, replace(VAGUE, lent=model, deadline_ms=300))
    assert (model.asked, answer.error) == ([], None)
    assert "not asked" not in str(answer.notice)
