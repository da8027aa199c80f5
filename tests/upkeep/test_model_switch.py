"""A remote model takes the bundled one's place when its index is whole; until then, and without it, questions are answered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.services.embeddings import EmbeddingService, Fault
from tests.shop import SHOP, write_files
from tests.support.remote_models import BUNDLED, MODEL, Person, found, model_of, remote, switched
from tests.waiting import until

from carrel.composition.composition import Composition
from carrel.index import index_opening as model_index
from carrel.index.workspace_state import FolderSettings
from carrel.model.outbound import Destination
from carrel.model.types import Query
from carrel.providers.keys import StandardKeys
from carrel.service import queries
from carrel.settings.model_settings import Models, ModelSettings
from carrel.settings.settings import Settings
from carrel.upkeep import model_switch
from carrel.upkeep.index_jobs import IndexRunner


async def test_the_bundled_model_answers_until_the_others_index_is_whole(person: Person, service: EmbeddingService) -> None:
    service.pause = 0.3
    workspace = person.open(remote(service))
    assert "authenticate_user" in await found(workspace, "authenticate_user")
    assert BUNDLED in model_of(workspace)
    assert await found(workspace, "koala") == []
    asked = 0
    while BUNDLED in model_of(workspace):
        assert await found(workspace, "authenticate_user"), "answered all the time"
        asked += 1
    assert asked > 1
    assert (await found(workspace, "koala"))[0] == "Order", "by the meaning that only the service knows"
    assert person.faults == []
    assert any("texts embedded" in told.sent for told in person.progress)
    assert workspace.index
    assert workspace.index.problems == ()


async def test_going_back_is_a_comparison_and_a_second_start_asks_for_nothing(person: Person, service: EmbeddingService) -> None:
    workspace = await switched(person, service)
    before = len(service.requests)
    workspace.apply(person.folder(ModelSettings()))
    await found(workspace, "authenticate_user")
    assert BUNDLED in model_of(workspace)
    workspace.apply(person.folder(remote(service)))
    await workspace.settle()
    await until(lambda: MODEL in model_of(workspace))
    await workspace.close()
    again = person.open(remote(service))
    await again.open()
    assert MODEL in model_of(again)
    assert [text for text in service.texts if "authenticate_user" in text] != []
    assert len(service.requests) == before


async def test_a_second_clone_and_a_branch_switch_cost_nothing(person: Person, service: EmbeddingService, tmp_path: Path) -> None:
    workspace = await switched(person, service)
    before = len(service.requests)
    clone = person.open(remote(service), write_files(tmp_path / "clone" / "shop", SHOP))
    await found(clone, "anything")
    await until(lambda: MODEL in model_of(clone))
    text = "def refund(order):\n    return -order.total_price()\n"
    questions = len(service.requests) - before
    for content, asked in ((text, 1), (SHOP["src/orders.py"], 1), (text, 1)):
        write_files(workspace.root, {"src/orders.py": content})
        await asyncio.wait({workspace.queue.request(paths=["src/orders.py"]).done})
        assert len(service.requests) - before == questions + asked
    assert questions == 0


async def test_what_a_failed_batch_left_is_all_that_the_next_run_asks_for(
    person: Person, service: EmbeddingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.index.indexer._AWAITED_BYTES", 1)  # a batch a file
    service.faults = [Fault("status", 404)]
    workspace = person.open(remote(service))
    await found(workspace, "anything")
    await until(lambda: person.faults)
    assert "1 file was not embedded" in person.faults[0]
    assert "the bundled model answers" in person.faults[0]
    assert workspace.index
    assert person.faults[0] in workspace.index.problems
    assert await found(workspace, "authenticate_user")
    assert BUNDLED in model_of(workspace)
    asked = len(service.texts)
    workspace.request_index()
    await until(lambda: MODEL in model_of(workspace))
    assert len(service.texts) - asked < asked / 2


async def test_a_file_that_moves_to_another_folder_is_not_asked_for_again(person: Person, service: EmbeddingService) -> None:
    workspace = await switched(person, service)
    before = len(service.requests)
    (workspace.root / "billing").mkdir()
    (workspace.root / "src/orders.py").rename(workspace.root / "billing/orders.py")
    await asyncio.wait({workspace.queue.request(paths=["src/orders.py", "billing/orders.py"]).done})
    assert workspace.index
    view = workspace.index.store.snapshot()
    assert "src/orders.py" not in view.paths()
    assert all(any(view.vector(chunk.doc)) for chunk in view.file_chunks("billing/orders.py"))
    assert len(service.requests) == before


async def test_a_run_that_was_stopped_in_the_middle_is_resumed(
    person: Person, service: EmbeddingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.index.indexer._AWAITED_BYTES", 1)
    service.faults = [Fault("none"), Fault("hang")]
    workspace = person.open(remote(service))
    await found(workspace, "anything")
    await until(lambda: service.held)
    await workspace.close()
    asked = len(service.texts)
    again = person.open(remote(service))
    await again.open()
    assert BUNDLED in model_of(again)
    await found(again, "anything")
    await until(lambda: MODEL in model_of(again))
    assert service.texts[:asked][0] not in service.texts[asked:]


async def test_a_missing_key_is_told_and_looked_for_again(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_switch, "READY_AGAIN_SECONDS", 0.0)
    workspace = person.open(ModelSettings(provider="openai"), keys=StandardKeys({}))
    person_allows = workspace.composition.outbound.permissions
    await found(workspace, "anything")
    await until(lambda: person.faults)
    assert "carrel confirm openai api.openai.com" in person.faults[0]

    person_allows.allow(Destination("openai", "api.openai.com"))
    await found(workspace, "anything")
    await until(lambda: len(person.faults) > 1)
    assert "OPENAI_API_KEY" in person.faults[1]
    assert await found(workspace, "authenticate_user")


async def test_a_model_that_cannot_be_used_is_told_and_the_bundled_one_answers(person: Person) -> None:
    workspace = person.open(ModelSettings(provider="gpt"))
    assert await found(workspace, "authenticate_user")
    assert 'no embedding model of a provider "gpt"' in person.faults[0]


@pytest.mark.parametrize("agrees", [True, False])
async def test_a_first_index_that_costs_more_than_cents_is_confirmed(
    person: Person, service: EmbeddingService, agrees: bool
) -> None:
    person.agrees = agrees
    workspace = person.open(remote(service, price=5_000.0))
    await found(workspace, "anything")
    await until(lambda: person.confirmations)
    (asked,) = person.confirmations
    assert "The index of shop by openai@" in asked.risk
    assert "costs about $" in asked.risk
    assert "texts, about" in asked.details["sends"]
    if agrees:
        await until(lambda: MODEL in model_of(workspace))
        assert any("about $" in told.sent for told in person.progress)
    else:
        await until(lambda: person.faults)
        assert "was not confirmed" in person.faults[0]
        assert service.requests == []


async def test_without_anybody_to_ask_the_command_is_named(person: Person, service: EmbeddingService) -> None:
    workspace = person.open(remote(service, price=5_000.0))
    workspace.composition.confirm = Composition().confirm
    await found(workspace, "anything")
    await until(lambda: person.faults)
    assert "Run `carrel index` in a terminal" in person.faults[0]


async def test_the_estimate_leaves_out_what_is_kept(person: Person, service: EmbeddingService, tmp_path: Path) -> None:
    await switched(person, service)
    clone = person.open(remote(service, price=5_000.0), write_files(tmp_path / "clone" / "shop", SHOP))
    await found(clone, "anything")
    await until(lambda: MODEL in model_of(clone))
    assert person.confirmations == []


async def test_an_unknown_dimension_is_learned_and_remembered(person: Person, service: EmbeddingService) -> None:
    service.dims["own"] = 48
    settings = ModelSettings(provider="ollama", base_url=service.url, model="own")
    workspace = person.open(settings)
    await found(workspace, "anything")
    await until(lambda: "own" in model_of(workspace))
    assert workspace.index
    assert workspace.index.embedder.spec.dim == 48
    assert service.texts.count("dimension") == 1
    await workspace.close()
    again = person.open(settings)
    await again.open()
    assert "own" in model_of(again)
    assert service.texts.count("dimension") == 1


async def test_a_service_that_is_gone_leaves_words_and_says_so(person: Person, service: EmbeddingService) -> None:
    workspace = await switched(person, service)
    service.always = Fault("cut")
    result = await queries.search(workspace, Query("authenticate_user in another way", 3), 0)
    assert "authenticate_user" in [hit.chunk.symbol for hit in result.hits]
    assert "words alone" in str(result.diagnostics.problem)


async def test_two_processes_fill_one_index(person: Person, service: EmbeddingService) -> None:
    service.pause = 0.2
    first, second = person.open(remote(service)), person.open(remote(service))
    await found(first, "anything")
    await found(second, "anything")
    await until(lambda: MODEL in model_of(first))
    await until(lambda: MODEL in model_of(second))
    assert {first.index.store.role, second.index.store.role} == {"writer", "follower"}  # type: ignore[union-attr]
    documents = [text for text in service.texts if "authenticate_user" in text]
    assert len(documents) == len(set(documents))


async def test_clear_deletes_the_indexes_of_all_models(person: Person, service: EmbeddingService) -> None:
    workspace = await switched(person, service)
    workspace.switch.enabled = False
    assert await workspace.clear() > 0
    await workspace.close()
    for model in (ModelSettings(), remote(service)):
        again = person.open(model)
        index = await again.open()
        assert index.store.snapshot().files == 0
        await again.close()


async def test_a_command_that_answers_one_question_begins_nothing(person: Person, service: EmbeddingService) -> None:
    workspace = person.open(remote(service))
    workspace.switch.enabled = False
    await found(workspace, "anything")
    assert not workspace.switch.running
    assert service.requests == []


def test_the_index_of_a_model_that_nobody_used_for_long_is_deleted(tmp_path: Path) -> None:
    used, unused = (model_index.folder_of(tmp_path, name) for name in ("a:1", "a:2"))
    for folder in (used, unused):
        folder.prepare(8)
    assert model_index.clean_up(tmp_path, used.directory) == []
    later = (unused.directory / "model.json").stat().st_mtime + model_index.KEEP_UNUSED_SECONDS + 1
    assert model_index.clean_up(tmp_path, used.directory, now=later) == [unused.directory]
    assert used.dim == 8
    assert not unused.exists


async def test_hung_services_leave_every_other_workspace_as_it_was(
    person: Person, service: EmbeddingService, tmp_path: Path
) -> None:
    hung = [
        person.open(remote(service), write_files(tmp_path / f"hung{n}", {**SHOP, f"{n}.py": f"def own_{n}():\n    return {n}\n"}))
        for n in range(4)
    ]
    service.always = Fault("hang")
    for workspace in hung:
        await found(workspace, "anything")
    await until(lambda: service.held >= 4)
    quick = person.open(ModelSettings())
    assert "authenticate_user" in await found(quick, "authenticate_user")
    for workspace in hung:
        assert "authenticate_user" in await found(workspace, "authenticate_user"), "its own bundled model answers"
    assert all(workspace.switch.running for workspace in hung)


async def test_an_index_in_the_project_keeps_its_state_where_it_is_read(person: Person, service: EmbeddingService) -> None:
    chosen = Models(embedder=remote(service))
    person.folder = lambda _: FolderSettings(Settings(storage="workspace", models=chosen))  # type: ignore[assignment,method-assign]
    workspace = await switched(person, service)
    assert workspace.index
    await until(lambda: not workspace.queue.busy)
    assert workspace.index.directory.parent == person.root / ".carrel"
    assert (person.root / ".carrel" / "rag-state.json").is_file()
    assert not (workspace.index.directory / "rag-state.json").exists()


async def test_the_switch_leaves_an_index_that_a_person_asked_for_its_end(
    person: Person, service: EmbeddingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = person.open(remote(service))
    workspace.switch.enabled = False
    await found(workspace, "anything")
    gate, filled, as_it_is = asyncio.Event(), asyncio.Event(), model_switch.fill

    async def fill(*given: Any, **named: Any) -> Any:
        index = await as_it_is(*given, **named)
        filled.set()
        return index

    class Held(IndexRunner):
        async def run(self, *given: Any) -> Any:
            await gate.wait()
            return await super().run(*given)

    monkeypatch.setattr(model_switch, "fill", fill)
    workspace.indexing._runner = Held()
    job = workspace.request_index()
    workspace.switch.enabled = True
    workspace.switch.look()
    await filled.wait()
    await asyncio.sleep(0)
    gate.set()
    assert (await workspace.queue.wait(job)).unchanged == 3
    await until(lambda: MODEL in model_of(workspace))
