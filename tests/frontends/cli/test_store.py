"""`carrel store`: vectors move between stores, nothing is embedded again, and both sides are compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.contract import qdrant_server
from tests.frontends.cli.conftest import Run
from tests.support.silent_server import silent_server
from tests.waiting import wait_until

from carrel.extensions.stores.qdrant_install import Download
from carrel.frontends.cli import terminal

pytest.importorskip("lancedb", reason="the extra lancedb isn't installed")


def of(run: Run, *arguments: str) -> Any:
    code, out, _ = run("store", *arguments, "--json")
    return code, json.loads(out)


def test_between_all_stores(run: Run, project: Path) -> None:
    stores = [["lancedb"]]
    if os.environ.get("CARREL_QDRANT_BINARY") or os.environ.get("CARREL_QDRANT_URL"):
        url = qdrant_server.server_url()
        stores.append(["qdrant", "--url", url, "--collection", f"carrel-cli-{os.getpid()}"])
    _, out, _ = run("search", "who may come in", "--json")
    expected = [hit["path"] for hit in json.loads(out)["hits"]]
    assert of(run, "status")[1]["kind"] == "segments"
    for store in stores:
        code, moved = of(run, "migrate", *store, "--delete-old")
        assert (code, moved["kind"]) == (0, store[0])
        code, compared = of(run, "verify")
        assert (code, compared["same"], compared["held"]) == (0, True, moved["held"])
        assert of(run, "status")[1]["state"] == "ready"
        _, out, _ = run("search", "who may come in", "--json")
        assert [hit["path"] for hit in json.loads(out)["hits"]] == expected
        _, out, _ = run("status", "--json")
        vectors = json.loads(out)["vectors"]
        assert (vectors["kind"], vectors["held"], vectors["backlog"]) == (store[0], moved["held"], 0)
    assert of(run, "migrate", "segments")[0] == 0
    assert of(run, "status")[1]["kind"] == "segments"


def test_vectors_are_counted_in_chunks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal._lines, "__kwdefaults__", {"every_s": 0.0})  # a line for each step, not every few seconds
    run("index")
    _, _, told = run("store", "migrate", "lancedb")
    counted = [line for line in told.splitlines() if line.startswith("Publishing vectors to ")]
    assert counted
    assert all(line.endswith(" chunks") for line in counted)


def test_what_was_changed_in_the_store_is_found_and_mended(run: Run, project: Path) -> None:
    import lancedb  # noqa: PLC0415 - slow

    moved = of(run, "migrate", "lancedb")[1]
    [folder] = (project.parent / "cache").glob("carrel/indexes/*/lancedb")
    table = lancedb.connect(folder).open_table("chunks")
    table.delete(f"id = '{table.search().limit(1).to_list()[0]['id']}'")
    code, found = of(run, "verify")
    assert (code, found["missing"], found["same"]) == (1, 1, False)
    assert of(run, "verify", "--mend")[0] == 0
    code, found = of(run, "verify")
    assert (code, found["same"], found["held"]) == (0, True, moved["held"])


def test_a_migration_that_was_killed_goes_on_where_it_was(run: Run, project: Path) -> None:
    for number in range(300):
        (project / f"part_{number}.py").write_text(
            "\n\n".join(f"def handle_{number}_{part}(order):\n    return order.total + {part} * {number}\n" for part in range(10))
        )
    run("index")
    command = [sys.executable, "-m", "carrel", "store", "migrate", "lancedb"]
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    first_batch = "carrel/indexes/*/lancedb/*/data/*"
    wait_until(lambda: list((project.parent / "cache").glob(first_batch)) or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    process.wait()
    code, moved = of(run, "migrate", "lancedb")
    assert code == 0
    assert moved["held"] > 1_000
    assert of(run, "verify")[1]["same"]


def test_an_unusable_store_is_told_with_its_remedy(run: Run) -> None:
    code, _, said = run("store", "migrate", "qdrant", "--url", "https://vectors.example.com:6333")
    assert code == 1
    assert "carrel confirm qdrant vectors.example.com:6333" in said
    code, _, said = run("store", "migrate", "segments", "--url", "https://vectors.example.com")
    assert code == 2
    code, _, said = run("store", "verify")
    assert code == 2
    assert "carrel store migrate" in said
    assert "state" in of(run, "status")[1]  # nothing was set


def test_nothing_is_downloaded_before_a_person_agreed(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(*_: Any) -> Download:
        return Download("https://example.com/qdrant.tar.gz", "0" * 64, 1)

    async def downloaded(*_: Any) -> Path:
        raise AssertionError("it was downloaded")

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("carrel.composition.stores.find_qdrant", found)
    monkeypatch.setattr("carrel.composition.stores.install_qdrant", downloaded)
    code, _, said = run("store", "install")
    assert (code, "There is no terminal to ask a person on" in said) == (1, True)


def test_a_store_that_says_nothing_holds_up_no_answer(run: Run, project: Path) -> None:
    """The first answer comes from the index's own vectors, and the store isn't even asked for it."""
    expected = json.loads(run("search", "who may come in", "--json")[1])["hits"]
    with silent_server() as (port, accepted):
        config = project.parent / "config" / "carrel" / "settings.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[store]\nkind = "qdrant"\nurl = "http://127.0.0.1:{port}"\n')
        code, out, _ = run("search", "who may come in", "--json")
        assert (code, json.loads(out)["hits"]) == (0, expected)
        assert not accepted
