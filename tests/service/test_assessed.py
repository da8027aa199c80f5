"""Spec D8 on a workspace: a chat model says whether what was found is enough, for a search and for the context of an answer."""

from __future__ import annotations

import json

from tests.shop import write_files
from tests.support.workspaces import Open, indexed

from carrel.assist.assessment import Attempt
from carrel.model.conversation import Completion, Message
from carrel.model.fakes import FakeChatModel
from carrel.model.types import Budget, Query
from carrel.service import assessed
from carrel.service.context_request import ContextRequest
from carrel.service.workspace import Workspace

MANY = {
    f"src/tax_{number}.py": f"def tax_of_country_{number}(order):\n    return order.price * {number}\n" for number in range(30)
}


def said(action: str, refined: str = "", *, relevant: bool = True) -> Completion:
    answer = {
        "is_relevant": relevant,
        "is_sufficient": action == "answer",
        "action": action,
        "refined_query": refined,
    }
    return Completion(json.dumps(answer))


async def workspace_with_much(open_workspace: Open) -> Workspace:
    workspace = open_workspace()
    write_files(workspace.root, MANY)
    return await indexed(workspace)


async def test_each_attempt_fetches_ten_and_search_more_twenty(open_workspace: Open) -> None:
    workspace, attempts = await workspace_with_much(open_workspace), list[Attempt]()
    model = FakeChatModel(said("refine_query", "tax of an order"), said("search_more"))
    found = await assessed.search(model, attempts.append, workspace, Query("what does the state get?", 10), 0)
    assert [attempt.query for attempt in attempts] == ["what does the state get?", "tax of an order"]
    assert len(attempts[1].hits) == 10
    assert 10 < len(found.hits) <= 20
    assert found.hits[:10] == attempts[1].hits
    assert found.diagnostics.problem is None


async def test_giving_up_names_the_number_of_attempts_and_gives_what_was_found(open_workspace: Open) -> None:
    workspace = await workspace_with_much(open_workspace)
    model = FakeChatModel(said("refine_query", "tax of a country"), said("refine_query", "nothing of the kind", relevant=False))
    found = await assessed.search(model, lambda _: None, workspace, Query("tax of an order", 10), 0)
    assert found.hits
    assert found.diagnostics.problem
    assert "Gave up after 3 attempts" in found.diagnostics.problem


async def test_a_model_that_says_nothing_usable_counts_as_an_answer(open_workspace: Open) -> None:
    workspace = await workspace_with_much(open_workspace)
    found = await assessed.search(FakeChatModel(Completion("?")), lambda _: None, workspace, Query("tax of an order", 10), 0)
    assert found.hits
    assert found.diagnostics.problem
    assert "is no assessment" in found.diagnostics.problem


async def test_the_context_of_an_answer_is_that_of_the_query_that_was_enough(open_workspace: Open) -> None:
    workspace, attempts = await workspace_with_much(open_workspace), list[Attempt]()
    talk = (Message("user", "Hello"), Message("assistant", "Hello."))
    request = ContextRequest("who is let in?", 3, Budget(8_000, "chars"), trigger="explicit", history=talk)
    model = FakeChatModel(said("refine_query", "authenticate_user"), said("search_more"))
    answer, wanted = await assessed.context(workspace, request, model, attempts.append)
    assert (wanted.query, wanted.limit, wanted.history) == ("authenticate_user", 20, ())
    assert "def authenticate_user" in answer.pack.text
    assert [attempt.query for attempt in attempts] == ["who is let in?", "authenticate_user"]
    assert answer.notice is None
