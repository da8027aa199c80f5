"""The managed Qdrant server: one for all, gone with the last user; and what a program that misbehaves leads to."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.contract.qdrant_server import REASON
from tests.waiting import wait_until

from carrel.extensions.stores.qdrant_process import RunningQdrant, check_version, find_program, start
from carrel.extensions.stores.qdrant_supervisor import STATE_FILE
from carrel.model.errors import ProviderError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script, which Windows doesn't start")

STAND_IN = """#!{python}
import http.server, os, signal, sys, time
if "--version" in sys.argv:
    print("qdrant {version}"); raise SystemExit
config = open(sys.argv[sys.argv.index("--config-path") + 1]).read()
port = int(config.split("http_port: ")[1].split(",")[0])
open("starts", "a").write(str(os.getpid()) + "\\n")
print("x" * 300_000, flush=True)  # more than a pipe holds
{behaviour}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def program(folder: Path, behaviour: str = "", version: str = "1.18.2") -> Path:
    made = folder / "program"
    made.write_text(STAND_IN.format(python=sys.executable, behaviour=behaviour, version=version))
    made.chmod(made.stat().st_mode | stat.S_IXUSR)
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("carrel.extensions.stores.qdrant_process.START_SECONDS", 20)
    made = tmp_path / "qdrant"
    yield made
    for pid in starts(made):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def starts(folder: Path) -> list[int]:
    """Return the processes of the program that were ever started."""
    file = folder / "starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" if Path("/proc").exists() else True
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or while, this was read
        return False


def gone(pid: int) -> bool:
    return wait_until(lambda: not running(pid))


async def test_many_that_come_at_once_share_one_server_which_ends_with_the_last(folder: Path, tmp_path: Path) -> None:
    users = await asyncio.gather(*(start(folder, program(tmp_path), grace=0.3) for _ in range(4)))
    assert len({user.url for user in users}) == 1
    (pid,) = starts(folder)
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{users[0].url}/healthz")).is_success
    for user in users[:3]:
        user.close()
    assert users[3].alive
    await asyncio.sleep(1)
    assert running(pid)
    users[3].close()
    assert await asyncio.to_thread(gone, pid)
    assert await asyncio.to_thread(wait_until, lambda: not (folder / STATE_FILE).exists())


async def test_the_server_survives_a_user_that_is_killed_and_ends_when_all_are(folder: Path, tmp_path: Path) -> None:
    code = (
        "import asyncio, sys, time; from pathlib import Path; from carrel.extensions.stores.qdrant_process import start\n"
        "held = asyncio.run(start(Path(sys.argv[1]), Path(sys.argv[2]), grace=0.5)); print(held.url, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(folder), str(program(tmp_path))]
    other = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert other.stdout is not None
    url = (await other.stdout.readline()).decode().strip()
    mine = await start(folder, program(tmp_path), grace=0.5)
    assert mine.url == url
    other.kill()
    await other.wait()
    (pid,) = starts(folder)
    await asyncio.sleep(1)
    assert running(pid)
    mine.close()
    assert await asyncio.to_thread(gone, pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the server with its supervisor")
async def test_a_supervisor_that_is_killed_takes_the_server_along_and_the_next_use_starts_anew(
    folder: Path, tmp_path: Path
) -> None:
    first = await start(folder, program(tmp_path), grace=0.5)
    state = json.loads((folder / STATE_FILE).read_text())
    os.kill(state["pid"], signal.SIGKILL)
    assert await asyncio.to_thread(gone, state["child"])
    assert await asyncio.to_thread(wait_until, lambda: not first.alive)
    second = await start(folder, program(tmp_path), grace=0.5)
    assert second.alive
    assert len(starts(folder)) == 2
    second.close()
    first.close()


async def test_a_server_that_dies_is_started_again_by_the_next_use(folder: Path, tmp_path: Path) -> None:
    first = await start(folder, program(tmp_path), grace=0.5)
    os.kill(starts(folder)[0], signal.SIGKILL)
    assert await asyncio.to_thread(wait_until, lambda: not first.alive)
    second = await start(folder, program(tmp_path), grace=0.5)
    assert len(starts(folder)) == 2
    second.close()
    first.close()


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("print('no space left on device'); sys.exit(3)", r"ended at its start with code 3"),
        ("time.sleep(100)", r"didn't answer within"),
    ],
)
async def test_a_server_that_does_not_start_is_told_with_the_cause_and_leaves_nothing(
    folder: Path, tmp_path: Path, behaviour: str, said: str
) -> None:
    with pytest.raises(ProviderError, match=said) as raised:
        await start(folder, program(tmp_path, behaviour), grace=0.2, tries=3)
    assert "server.log" in str(raised.value)
    for pid in starts(folder):
        assert await asyncio.to_thread(gone, pid)
    later = await start(folder, program(tmp_path), grace=0.2)
    later.close()


async def test_a_late_server_is_waited_for(folder: Path, tmp_path: Path) -> None:
    held = await start(folder, program(tmp_path, "time.sleep(2)"), grace=0.2)
    assert held.alive
    held.close()


async def test_its_health_is_asked_for_again_until_it_is_well(folder: Path, tmp_path: Path) -> None:
    ill = """
answer = http.server.BaseHTTPRequestHandler.send_response
codes = [503, 503, 503]
def answer_ill(self, code):
    open("polls", "a").write(self.path + "\\n")
    answer(self, codes.pop() if codes else code)
http.server.BaseHTTPRequestHandler.send_response = answer_ill
"""
    held = await start(folder, program(tmp_path, ill), grace=0.2)
    held.close()
    assert (folder / "polls").read_text().splitlines()[:4] == ["/healthz"] * 4
    assert len(starts(folder)) == 1


async def test_a_port_that_is_taken_is_avoided(folder: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", 6333))
            taken.listen()
        except OSError:
            pass  # somebody else has it: as good
        held = await start(folder, program(tmp_path), grace=0.2)
        assert not held.url.endswith(":6333")
        held.close()


async def test_a_file_left_by_a_crash_is_no_obstacle(folder: Path, tmp_path: Path) -> None:
    await asyncio.to_thread(folder.mkdir)
    with socket.create_server(("127.0.0.1", 0)) as another:  # another program has the port now
        stale = {"control": another.getsockname()[1], "token": "x", "key": "y", "pid": 1, "child": 1, "url": "http://127.0.0.1:1"}
        (folder / STATE_FILE).write_text(json.dumps(stale))
        (folder / "starting").touch()
        os.utime(folder / "starting", (1, 1))
        held = await start(folder, program(tmp_path), grace=5)
    assert held.alive
    held.close()


@pytest.mark.parametrize(
    ("version", "said"), [("1.12.0", r"is Qdrant 1\.12\.0, which is too old"), ("unknown", "doesn't say which version")]
)
def test_a_program_that_is_too_old_or_something_else_is_refused(tmp_path: Path, version: str, said: str) -> None:
    with pytest.raises(ProviderError, match=said):
        check_version(program(tmp_path, version=version))


def test_a_program_that_cannot_be_started_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a program")
    for wrong in (tmp_path / "text", tmp_path / "nothing"):
        with pytest.raises(ProviderError, match="can't be started"):
            check_version(wrong)


def test_the_program_is_the_chosen_one_then_the_installed_one_then_that_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/qdrant")
    assert find_program(tmp_path, "/opt/q") == Path("/opt/q")
    assert find_program(tmp_path) == Path("/usr/bin/qdrant")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "qdrant").write_text("")
    assert find_program(tmp_path) == tmp_path / "bin" / "qdrant"


async def test_only_the_user_can_read_the_keys(folder: Path, tmp_path: Path) -> None:
    held = await start(folder, program(tmp_path), grace=0.2)
    assert [stat.S_IMODE((folder / name).stat().st_mode) for name in (STATE_FILE, "config.yaml")] == [0o600, 0o600]
    held.close()


async def test_the_program_is_started_with_a_configuration_of_its_folder(folder: Path, tmp_path: Path) -> None:
    held = await start(folder, program(tmp_path, 'import json; json.dump(sys.argv[1:], open("arguments", "w"))'), grace=0.2)
    held.close()
    arguments = json.loads((folder / "arguments").read_text())
    assert arguments[:2] == ["--config-path", str(folder / "config.yaml")]
    config = (folder / "config.yaml").read_text()
    assert "telemetry_disabled: true" in config
    assert f'storage_path: "{folder / "storage"}"' in config
    assert f"host: 127.0.0.1, http_port: {held.url.rpartition(':')[2]}, " in config


async def test_the_program_gets_what_it_needs_of_the_environment_and_no_keys(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    held = await start(folder, program(tmp_path, 'import json; json.dump(dict(os.environ), open("environment", "w"))'), grace=0.2)
    held.close()
    given = json.loads((folder / "environment").read_text())
    assert given["https_proxy"] == "http://127.0.0.1:3128"
    assert given["PATH"] == os.environ["PATH"]
    assert "planted" not in str(given)


async def test_the_real_server_wants_the_key_and_keeps_its_data(folder: Path) -> None:
    binary = os.environ.get("CARREL_QDRANT_BINARY")
    if not binary:
        pytest.skip(REASON)

    async def asked(held: RunningQdrant, method: str, path: str, key: str | None = None) -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False) as client:
            body = {"vectors": {"size": 4, "distance": "Cosine"}} if method == "PUT" else None
            return await client.request(method, held.url + path, json=body, headers={"api-key": key} if key else {})

    first = await start(folder, Path(binary), grace=0.2)
    assert (await asked(first, "GET", "/collections")).status_code in (401, 403)
    assert (await asked(first, "PUT", "/collections/kept", first.key)).is_success
    pid = json.loads((folder / STATE_FILE).read_text())["child"]
    first.close()
    assert await asyncio.to_thread(gone, pid)
    second = await start(folder, Path(binary), grace=0.2)
    assert "kept" in (await asked(second, "GET", "/collections", second.key)).text
    second.close()
