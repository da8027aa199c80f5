"""Which prompts of agents get code: those that ask for some, and not those that steer what is under way."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.quality.corpus import package_folder
from tests.support.indexing import run_index_blocking

from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted_blocking
from carrel.model.conversation import Message
from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.query_words import is_question
from carrel.search.retriever import read
from carrel.service.prompt_context import is_command

PROMPTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("prompts.json").read_text("utf-8"))
"""Half of them (`aside`) had no part in the rule."""
ORDERS: dict[str, Any] = json.loads(Path(__file__).with_name("orders.json").read_text("utf-8"))
"""Short orders about what an agent has in hand, and short tasks of each package."""
MODEL = bundled()


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Snapshot]]:
    stores = {}
    for name in {one["package"] for one in PROMPTS}:
        place = str(tmp_path_factory.mktemp("indexes") / name)
        root, spec = str(package_folder(name)), MODEL.spec
        store = stores[name] = Store.open(place, root, embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions())
        run_index_blocking(store, MODEL, CancelToken())
    yield {name: store.snapshot() for name, store in stores.items()}
    for store in stores.values():
        store.close()


def verdict(view: Snapshot, prompt: str, before: list[list[str]]) -> bool:
    if is_command(prompt):
        return False
    history = [Message(role, text) for role, text in before] if is_question(prompt) else []  # type: ignore[arg-type]
    found = retrieve_assisted_blocking(
        Question(Query(prompt, 5), history),
        lambda: view,
        MODEL,
        ALONE,
        lambda ranking, token: read(ranking, ranking.query, token),
        CancelToken(),
    )
    return bool(found.wanted)


@pytest.mark.parametrize("aside", [False, True], ids=["fitted", "kept aside"])
def test_most_prompts_get_code_where_they_ask_for_some_alone(views: dict[str, Snapshot], aside: bool) -> None:
    asked = [one for one in PROMPTS if one["aside"] is aside]
    assert [sum(one["wanted"] for one in asked), len(asked)] == [15, 30]
    wrong = [
        one["prompt"]
        for one in asked
        if verdict(views[one["package"]], one["prompt"], one.get("before", [])) is not one["wanted"]
    ]
    assert len(wrong) <= 2, wrong


def test_short_orders_get_code_where_they_say_much_that_is_close(views: dict[str, Snapshot]) -> None:
    tasks = ORDERS["tasks"]
    orders = [(name, prompt) for name in tasks for prompt in ORDERS["orders"]]
    steering = [(name, prompt) for name, prompt in orders if verdict(views[name], prompt, [])]
    assert len(steering) <= len(orders) / 8, steering
    missed = [prompt for name in tasks for prompt in tasks[name] if not verdict(views[name], prompt, [])]
    assert len(missed) <= 1, missed


LOG = "".join(f"2026-03-02 12:01:{at:02} INFO [worker-{at}] processed batch {7 * at}\n" for at in range(30))
TABLE = "NAME      READY   STATUS    AGE\n" + "".join(f"api-x{at}k2p   0/1   Crashed   {at}h\n" for at in range(20))
OUTPUT = "====== test session starts ======\ncollected 214 items\n\n" + 9 * "tests/test_a.py .........\n" + "E   assert 3 == 4\n"


@pytest.mark.parametrize("paste", [LOG, TABLE, OUTPUT], ids=["log", "table", "output"])
@pytest.mark.parametrize("form", ["{prompt}\n\n{paste}", "{paste}\n{prompt}"], ids=["behind", "before"])
def test_a_paste_beside_a_question_hides_it_from_nobody(views: dict[str, Snapshot], paste: str, form: str) -> None:
    asked = [one for one in PROMPTS if one["wanted"] and is_question(one["prompt"]) and not one.get("before")]
    missed = [
        one["prompt"] for one in asked if not verdict(views[one["package"]], form.format(prompt=one["prompt"], paste=paste), [])
    ]
    assert len(asked) >= 8
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("paste", [LOG, TABLE], ids=["log", "table"])
def test_a_paste_beside_an_order_brings_no_code(views: dict[str, Snapshot], paste: str) -> None:
    steering = [prompt for prompt in ORDERS["orders"] if verdict(views["click"], f"{prompt}\n\n{paste}", [])]
    assert len(steering) <= len(ORDERS["orders"]) / 8, steering


@pytest.mark.parametrize("prompt", ["/compact", " /model opus", "!ls", "#remember tabs", "/init\nmore"])
def test_commands_are_for_the_agents_program(prompt: str) -> None:
    assert is_command(prompt)


@pytest.mark.parametrize(
    "prompt",
    ["/usr/lib/x.py is empty", "#123 is open", "--help", "where is /compact?", "# Plan", "@lock where is it used?"],
)
def test_what_only_begins_like_a_command_is_none(prompt: str) -> None:
    assert not is_command(prompt)


def test_a_word_of_any_length_can_be_looked_at() -> None:
    for length in (1, 255, 256, 4_096, *random.SystemRandom().sample(range(200, 1_000_000), 5)):
        assert is_command("/" + "x" * length), length


def test_the_name_of_a_folder_is_no_command() -> None:
    top = next(folder.name for folder in Path("/").iterdir() if folder.is_dir() and folder.name.isalpha())
    assert not is_command(f"/{top} is full, where are files written?")


@pytest.mark.parametrize("prompt", ["and where is that checked?", "which tests cover it", "explain the retry"])
def test_a_question_of_the_code_takes_in_the_conversation(prompt: str) -> None:
    assert is_question(prompt)


@pytest.mark.parametrize("prompt", ["no, the other one", "why did you do that?", "explain what you did", "are you sure?"])
def test_an_order_and_what_is_asked_of_the_agent_do_not(prompt: str) -> None:
    assert not is_question(prompt)
