"""A real server and commands with a remote embedding model: its meaning, its loss, a kill, and where keys are afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspClient
from tests.services.embeddings import KEY, EmbeddingService, Fault, running
from tests.waiting import until


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    with running() as service:
        yield service


@pytest.fixture
def options(options: dict[str, Any], env: dict[str, str], service: EmbeddingService) -> dict[str, Any]:
    env["OPENAI_API_KEY"] = KEY
    model = {"provider": "openai", "baseUrl": f"{service.url}/v1", "dimensions": 64, "key": "env:OPENAI_API_KEY", "price": 0.02}
    return {**options, "models": {"embedder": model}, "logLevel": "debug"}


async def switched(client: LspClient) -> None:
    async def answers() -> bool:
        return "openai" in (await client.request("carrel/status", {}))["model"]["id"]

    await until(answers)


def kept(*folders: Path) -> bytes:
    """Everything that is on disk below these folders."""
    return b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())


async def test_search_by_the_services_meaning_goes_on_by_words_when_it_is_killed(
    start: Start, project: Path, tmp_path: Path, service: EmbeddingService
) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        assert paths(await client.request("carrel/search", {"query": "authenticate_user"}))[0] == "src/auth.py"
        await switched(client)
        assert paths(await client.request("carrel/search", {"query": "koala"}))[0] == "src/orders.py"
        service.always = Fault("cut")  # it dies; what it kept open is of no use
        found = await client.request("carrel/search", {"query": "another way to authenticate_user"})
        assert paths(found)[0] == "src/auth.py"
        context = await client.request("carrel/context", {"query": "authenticate_user again", "deadlineMs": 3_000})
        assert "src/auth.py" in context["text"]

        async def is_ready() -> bool:
            return bool((await client.request("carrel/status", {}))["state"] == "ready")

        assert await until(is_ready)
        told = str(client.notifications)
    assert KEY not in told
    on_disk = kept(tmp_path)
    assert KEY.encode() not in on_disk
    assert b"return row is not None" in on_disk  # the project itself
    assert b"return row is not None" not in kept(tmp_path / "cache")
    assert any(KEY in headers.get("authorization", "") for _, headers, _ in service.requests)


async def test_a_result_says_what_was_sent_where(start: Start, project: Path, service: EmbeddingService) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        before = await client.request("carrel/search", {"query": "authenticate_user"})
        assert "sent" not in before or before["sent"]  # the bundled model answers until the other is ready
        await switched(client)
        question = "where do koalas live here"
        for method in ("carrel/search", "carrel/context", "carrel/augment"):
            result = await client.request(method, {"query": f"{question} {method}", "text": "x", "trigger": "explicit"})
            (sent,) = result.get("pack", result)["sent"]
            assert (sent["provider"], sent["what"], sent["requests"], sent["texts"]) == ("openai", "embedder", 1, 1)
            assert sent["host"] == service.url.removeprefix("http://")
            assert sent["bytes"] > len(question)
            assert 0 < sent["cost"] < 0.001
        again = await client.request("carrel/search", {"query": f"{question} carrel/search"})
        assert "sent" not in again  # what was asked before is kept


async def test_no_key_is_on_standard_error(
    project: Path, options: dict[str, Any], env: dict[str, str], tmp_path: Path, service: EmbeddingService
) -> None:
    log = tmp_path / "stderr.txt"
    service.always = Fault("status", 401)
    with log.open("wb") as stderr:
        async with LspClient.started(project, options=options, env=env, stderr=stderr) as client:
            await client.request("carrel/index", {})

            async def told() -> bool:
                return "refused the key (401" in str((await client.request("carrel/status", {}))["problems"])

            await until(told)
            assert paths(await client.request("carrel/search", {"query": "authenticate_user"}))[0] == "src/auth.py"
    text = await asyncio.to_thread(log.read_text)
    assert "refused the key" in text
    assert KEY not in text


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
async def test_a_kill_leaves_the_old_index_answering_and_the_new_one_resumable(
    start: Start, project: Path, service: EmbeddingService, options: dict[str, Any], env: dict[str, str]
) -> None:
    words = "\n".join(f"word{n} and another one of many words" for n in range(30))
    for number in range(24):  # some 2.5 MB, which are three batches
        names = [
            "".join(chr(ord("a") + int(digit)) for digit in str(100 * number + n)) for n in range(100)
        ]  # words, as it knows them
        text = "\n\n".join(f"Paragraph {name}: {words}." for name in names)
        (project / f"book{number}.txt").write_text(text)
    service.faults = [Fault("none")] * 8 + [Fault("hang")] * 8
    client = await LspClient.spawn(env=env)
    await client.initialize(project, options=options)
    await client.request("carrel/index", {})

    async def hangs() -> bool:
        return service.held > 0

    await until(hangs)
    await asyncio.sleep(2)  # what was answered before is kept by then
    os.kill(client.process.pid, signal.SIGKILL)
    await client.kill()
    service.faults = []
    asked = len(service.requests)
    answered = {text for _, _, body in service.requests[:8] for text in body["input"]}
    async with start(project) as client:
        assert "carrel-embed" in (await client.request("carrel/status", {}))["model"]["id"]
        assert paths(await client.request("carrel/search", {"query": "authenticate_user"}))[0] == "src/auth.py"
        await switched(client)
    again = {text for _, _, body in service.requests[asked:] for text in body["input"]}
    assert again
    assert not again & answered


def carrel(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "carrel", *arguments]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_line_fills_and_searches_it(
    project: Path, env: dict[str, str], service: EmbeddingService, options: dict[str, Any]
) -> None:
    folder = Path(env["XDG_CONFIG_HOME"]) / "carrel"
    folder.mkdir(parents=True)
    model = options["models"]["embedder"]
    lines = [f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in model.items()]
    (folder / "settings.toml").write_text("[models.embedder]\n" + "\n".join(lines) + "\n")
    done = carrel(env, "index", str(project))
    assert done.returncode == 0, done.stderr
    assert "texts, about" in done.stderr
    assert "answers from now on" in done.stderr
    asked = len(service.requests)
    found = carrel(env, "search", "koala", "--path", str(project))
    assert "orders.py" in found.stdout
    assert len(service.requests) == asked + 1, "the question alone"
    again = carrel(env, "index", str(project))
    assert "answers from now on" not in again.stderr
    assert len(service.requests) == asked + 1
    (folder / "settings.toml").write_text("")
    back = carrel(env, "search", "koala", "--path", str(project))
    assert "orders.py" not in back.stdout
    assert KEY not in done.stderr + done.stdout + found.stdout + found.stderr
