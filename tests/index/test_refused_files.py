"""A text that a remote model refuses costs the index that text's vector, and is told."""

from __future__ import annotations

import asyncio

import pytest
from tests.services.embeddings import EmbeddingService
from tests.shop import write_files
from tests.support.remote_models import BUNDLED, MODEL, Person, found, model_of, remote, switched
from tests.waiting import until

from carrel.frontends.cli.index import _show_status
from carrel.frontends.cli.terminal import Output
from carrel.frontends.lsp.commands.index_commands import status_result
from carrel.index.status import Status
from carrel.service.workspace import Workspace

THREE = "\n\n".join(
    f"def {name}(order):\n    return order.total() * {name!r}  # long enough for a chunk\n"
    for name in ("cancel", "refund", "ship")
)


async def test_a_refused_text_of_a_saved_file_is_told_and_asked_for_again_only_under_other_settings(
    person: Person, service: EmbeddingService, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = await switched(person, service, max_texts=1)
    service.refused = "def refund"
    write_files(workspace.root, {"src/orders.py": THREE})
    before = len(service.texts)
    await asyncio.wait({workspace.queue.request(paths=["src/orders.py"]).done})
    assert "ship" in await found(workspace, "ship")
    assert "refund" in await found(workspace, "refund"), "by words"
    sent = service.texts[before:]
    assert [sum(name in text for text in sent) for name in ("def cancel", "def ship", "def refund")] == [1, 1, 2]
    status = status_result(workspace, "shop", await workspace.status())
    assert (status.chunks_without_vectors, status.failed_files, status.refused_files) == (1, 1, 1)
    assert [file.path for file in status.failed] == ["src/orders.py"]
    _show_status(status, Output())
    shown = capsys.readouterr().out
    assert "without a vector: 1 chunk, found by words\nrefused: 1 file" in shown
    assert "src/orders.py: the embedding model refused a text of it" in shown
    assert "failed:" not in shown

    before = len(service.texts)
    await asyncio.wait({workspace.request_index().done})
    await workspace.close()
    again = person.open(remote(service, max_texts=1))
    await asyncio.wait({again.request_index().done})
    assert MODEL in model_of(again)
    assert len(service.texts) == before, "after a restart, too"

    service.refused = ""
    again.apply(person.folder(remote(service, max_texts=2)))
    await again.settle()
    await asyncio.wait({again.request_index().done})
    (asked,) = service.texts[before:]
    assert "def refund" in asked
    status = status_result(again, "shop", await again.status())
    assert (status.chunks_without_vectors, status.failed_files, status.refused_files) == (0, 0, 0)


async def test_a_first_index_with_a_refused_text_answers_and_asks_again_when_the_text_changes_or_all_is_made_anew(
    person: Person, service: EmbeddingService
) -> None:
    service.refused = "def refund"
    write_files(person.root, {"src/refunds.py": THREE})
    workspace = await switched(person, service)
    assert person.faults == []
    assert (await workspace.status()).refused_files == 1
    report = await workspace.request_index(force=True).done
    assert (report.failed, report.refused) == (0, 1)
    before = len(service.texts)
    write_files(workspace.root, {"src/refunds.py": THREE.replace("def refund", "def pay_back")})
    await asyncio.wait({workspace.queue.request(paths=["src/refunds.py"]).done})
    (asked,) = service.texts[before:]
    assert "def pay_back" in asked
    assert (await workspace.status()).failed_files == 0

    service.refused = "def ship"
    write_files(workspace.root, {"src/refunds.py": THREE.replace("order.total()", "order.sum()")})
    await asyncio.wait({workspace.queue.request(paths=["src/refunds.py"]).done})
    assert (await workspace.status()).refused_files == 1
    service.refused = ""
    await asyncio.wait({workspace.request_index(force=True).done})
    assert (await workspace.status()).refused_files == 0


async def test_a_service_that_refuses_most_texts_does_not_answer(person: Person, service: EmbeddingService) -> None:
    service.refused = "."
    workspace = person.open(remote(service))
    await found(workspace, "anything")
    await until(lambda: person.faults)
    assert "gave less than half of the texts a vector, so it isn't used: the embedding model refused" in person.faults[0]
    assert BUNDLED in model_of(workspace)
    workspace.switch.retry()
    await until(lambda: not workspace.switch.running)
    assert BUNDLED in model_of(workspace)


async def test_a_failure_says_apart_what_is_tried_again_and_what_was_refused(
    person: Person, service: EmbeddingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.index.indexer._AWAITED_BYTES", 1)  # a batch a file
    write_files(person.root, {"a_first.py": THREE, "z_last.py": THREE.replace("refund", "pay_back")})
    service.refused = "def refund"
    service.answers_to["def pay_back"] = 404
    workspace = person.open(remote(service))
    await found(workspace, "anything")
    await until(lambda: person.faults)
    (fault,) = person.faults
    assert "1 file was not embedded by " in fault
    assert "and will be tried again: " in fault
    assert "404" in fault
    assert ". 1 more file holds a text that the model refused, which isn't sent again as it is. Until " in fault
    assert "asked again when" not in fault
    await workspace.close()
    again = person.open(remote(service))
    again.switch.enabled = False
    problems = (await opened_status(again)).problems
    assert any("Its last run ended so: 1 file was not embedded by " in problem for problem in problems)


async def test_an_answer_counts_no_refused_text_among_those_that_will_have_a_vector(
    person: Person, service: EmbeddingService
) -> None:
    service.refused = "def refund"
    write_files(person.root, {"src/refunds.py": THREE})
    workspace = await switched(person, service)
    assert workspace.index
    view = workspace.index.store.snapshot()
    assert view.chunks_without_vectors > view.chunks / 100
    assert workspace.index.notice(view, None) is None
    service.answers_to["def pay_back"] = 404
    write_files(person.root, {"src/payments.py": THREE.replace("refund", "pay_back")})
    await asyncio.wait({workspace.queue.request(paths=["src/payments.py"]).done})
    notice = workspace.index.notice(workspace.index.store.snapshot(), None)
    assert notice
    assert "which refused texts of 1 file: words alone find them" in notice
    service.refused = ""
    await asyncio.wait({workspace.request_index(force=True).done})
    notice = workspace.index.notice(workspace.index.store.snapshot(), None)
    assert notice
    assert " yet: " in notice


async def opened_status(workspace: Workspace) -> Status:
    await workspace.open()
    return await workspace.status()
