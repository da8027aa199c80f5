"""What a person sees who builds Carrel for the first time: one line a step, and a remedy where one fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from carrel.frontends.cli import demo

ROOT = Path(__file__).parents[2]
unix = pytest.mark.skipif(sys.platform == "win32", reason="make and bash build a checkout")


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60, check=False
    )


@unix
def test_a_step_that_ends_well_is_one_line() -> None:
    done = run(".ci/step", "Fetching", "sh", "-c", "echo noise; echo more >&2")
    assert re.fullmatch(r"Fetching … \d+ s\n", done.stdout)
    assert (done.returncode, done.stderr) == (0, "")


@unix
@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("error: failed to write /x: No space left on device (os error 28)", "free 2 GB"),
        ("ERROR: No matching distribution found for x==2 (from versions: 1)", "Python 3.11 to 3.14"),
        ("ERROR: x-1-cp311-abi3-win_amd64.whl is not a supported wheel on this platform.", "Python 3.11 to 3.14"),
        ("error: failed to verify the checksum of `itoa v1.0.18`", "[source]"),
        ("[6] Could not resolve host: index.crates.io", "HTTPS_PROXY"),
        ("error: linker `cc` not found", "build-essential"),
        ("Error: ensurepip is not available", "python3-venv"),
        ("error: rustc 1.70.0 is not supported by the following packages:", "rustup update"),
    ],
)
def test_a_step_that_fails_says_why_and_what_to_do(message: str, remedy: str) -> None:
    done = run(".ci/step", "Fetching", "sh", "-c", 'echo "$0"; exit 3', message)
    assert done.returncode == 3
    assert re.fullmatch(r"Fetching … failed after \d+ s\n", done.stdout)
    assert message in done.stderr
    assert remedy in done.stderr


@unix
def test_what_a_machine_lacks_is_named_at_once(tmp_path: Path) -> None:
    for tool in ("bash", "sed", "cut", "sort", "head", "df", "awk", "env"):
        (tmp_path / tool).symlink_to(next(path for path in (Path("/usr/bin") / tool, Path("/bin") / tool) if path.exists()))
    done = run(".ci/machine", "", ".", PATH=str(tmp_path))
    assert done.returncode == 1
    for part in ("Python 3.11 or newer is needed, this is none:", "https://rustup.rs", "A C compiler (cc) isn't there"):
        assert part in done.stderr
    rustc, cargo, cc, python = (tmp_path / name for name in ("rustc", "cargo", "cc", "python3"))
    for program, says in ((rustc, "rustc 1.70.0"), (cargo, ""), (cc, ""), (python, "3.9.18; exit 1")):
        program.write_text(f"#!/bin/sh\necho {says}\n")
        program.chmod(0o755)
    done = run(".ci/machine", str(python), ".", PATH=str(tmp_path))
    assert f"Python 3.11 or newer is needed, this is {python} (3.9.18):" in done.stderr
    assert "is needed, this is rustc 1.70.0: rustup update" in done.stderr
    rustc.write_text("#!/bin/sh\necho rustc 1.100.0\n")
    assert run(".ci/machine", sys.executable, ".", PATH=str(tmp_path)).returncode == 0
    (tmp_path / "df").unlink()
    (tmp_path / "df").write_text("#!/bin/sh\nprintf 'Filesystem 1024-blocks Used Available\\nnone 0 0 30720\\n'\n")
    (tmp_path / "df").chmod(0o755)
    done = run(".ci/machine", sys.executable, "/small", PATH=str(tmp_path))
    assert "/small has 30 MB free, a build needs 2,000" in done.stderr


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """A package registry that refuses everything below /blocked, and elsewhere has half of one wheel."""

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/blocked"):
                self.send_error(403)
                return
            whole = (
                b"PK\3\4" * 100
                if self.path.endswith(".whl")
                else b'<a href="shop-1-py3-none-any.whl">shop-1-py3-none-any.whl</a>'
            )
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole[: len(whole) // 2] if self.path.endswith(".whl") else whole)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@unix
@pytest.mark.parametrize(
    ("folder", "remedy"), [("blocked", "HTTPS_PROXY"), ("half", "isn't what is pinned: a download broke off")]
)
def test_what_a_registry_does_wrong_is_told_with_what_mends_it(registry: str, folder: str, remedy: str, tmp_path: Path) -> None:
    wanted = tmp_path / "wanted.txt"
    wanted.write_text(f"shop==1 --hash=sha256:{'0' * 64}\n")
    fetch = (
        "pip",
        "--isolated",
        "download",
        "--retries",
        "0",
        "--no-cache-dir",
        "--dest",
        str(tmp_path),
        "--index-url",
        f"{registry}/{folder}",
    )
    done = run(".ci/step", "Fetching", sys.executable, "-m", *fetch, "--require-hashes", "-r", str(wanted))
    assert done.returncode == 1
    assert remedy in done.stderr


def test_what_the_demo_installs_is_pinned_as_for_the_tests() -> None:
    pins = {
        name: dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", (ROOT / "requirements" / name).read_text("utf-8"), re.MULTILINE))
        for name in ("build.txt", "dev.txt")
    }
    assert pins["build.txt"].items() <= pins["dev.txt"].items(), "run make lock"
    assert {"maturin", "pygls", "httpx"} <= pins["build.txt"].keys()
    assert len(pins["build.txt"]) < len(pins["dev.txt"]) / 3


def test_without_a_network_the_demo_asks_about_pythons_own_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path)

    def fail(_: Path) -> Path:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(demo, "_download", fail)
    notes: list[str] = []
    root, question = demo.package(notes.append)
    assert (root / "urllib/request.py").is_file()
    assert question == demo.LIBRARY_QUESTION
    assert "no network" in notes[-1]
    (tmp_path / "unpacked").mkdir()
    monkeypatch.setattr(demo, "_download", lambda _: tmp_path / "unpacked")
    assert demo.package(notes.append) == (tmp_path / "demo/django-5.2.8", demo.PACKAGE_QUESTION)
