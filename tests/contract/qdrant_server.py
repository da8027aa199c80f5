"""The real Qdrant server: that of `CARREL_QDRANT_URL`, or the program `CARREL_QDRANT_BINARY`, started once for all tests."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import httpx
import pytest

REASON = "set CARREL_QDRANT_BINARY to Qdrant's program, or CARREL_QDRANT_URL to a server"


@cache
def server_url() -> str:
    """Return the URL of a server; skips the test where there is none."""
    url, program = os.environ.get("CARREL_QDRANT_URL"), os.environ.get("CARREL_QDRANT_BINARY")
    if url:
        return url
    if not program:
        pytest.skip(REASON)
    return start(program)[0]


def start(program: str, certificate: Path | None = None) -> tuple[str, subprocess.Popen[bytes], Path]:
    """Start a server with a storage of its own; it ends with this process. A certificate, its key beside it, switches on TLS."""
    folder = Path(tempfile.mkdtemp(prefix="carrel-qdrant-"))
    port, grpc_port = free_port(), free_port()
    (folder / "config.yaml").write_text(
        "log_level: WARN\ntelemetry_disabled: true\n"
        f"storage: {{storage_path: {folder}/storage, snapshots_path: {folder}/snapshots}}\n"
        f"service: {{host: 127.0.0.1, http_port: {port}, grpc_port: {grpc_port}, enable_tls: {str(bool(certificate)).lower()}}}\n"
        + (f"tls: {{cert: {certificate}, key: {certificate.with_suffix('.key')}}}\n" if certificate else "")
    )
    url = f"http{'s' if certificate else ''}://127.0.0.1:{port}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after the server's end, which is registered later
    return url, run_again(program, folder, url), folder


def run_again(program: str, folder: Path, url: str) -> subprocess.Popen[bytes]:
    """Start a server on the storage in a folder that `start` made, and wait until it answers."""
    process = subprocess.Popen(
        [program, "--config-path", str(folder / "config.yaml"), "--disable-telemetry"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )

    def stop() -> None:
        process.kill()
        process.wait()

    atexit.register(stop)
    end = time.monotonic() + 30
    with httpx.Client(trust_env=False, verify=url.startswith("http:")) as client:
        while time.monotonic() < end:
            try:
                if client.get(f"{url}/readyz").is_success:
                    return process
            except httpx.TransportError:
                time.sleep(0.05)
    raise RuntimeError("Qdrant didn't answer within 30 s")


@contextmanager
def cluster(folder: Path, servers: int) -> Iterator[tuple[list[str], list[subprocess.Popen[bytes]]]]:
    """Give the URLs and processes of servers that are one cluster; new collections have a copy on two of them."""
    urls: list[str] = []
    processes: list[subprocess.Popen[bytes]] = []
    first = ""
    try:
        for number in range(servers):
            place, port, peer_port = folder / str(number), free_port(), free_port()
            place.mkdir()
            storage = f"storage_path: {place}/storage, snapshots_path: {place}/snapshots, collection: {{replication_factor: 2}}"
            (place / "config.yaml").write_text(
                f"log_level: WARN\ntelemetry_disabled: true\nstorage: {{{storage}}}\n"
                f"service: {{host: 127.0.0.1, http_port: {port}, grpc_port: {free_port()}}}\n"
                f"cluster: {{enabled: true, p2p: {{port: {peer_port}}}}}\n"
            )
            at = f"http://127.0.0.1:{peer_port}"
            words = ["--config-path", str(place / "config.yaml"), "--uri", at, *(["--bootstrap", first] if first else [])]
            first = first or at
            silent = subprocess.DEVNULL
            processes.append(subprocess.Popen([binary(), *words], cwd=place, stdout=silent, stderr=silent))
            urls.append(f"http://127.0.0.1:{port}")
            _wait_for_peers(urls, number + 1)
        yield urls, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _wait_for_peers(urls: Sequence[str], peers: int) -> None:
    """Wait until every server knows so many, all of which answer."""
    end = time.monotonic() + 60
    with httpx.Client(trust_env=False, timeout=5) as client:
        while time.monotonic() < end:
            with suppress(httpx.TransportError):
                if all(len(client.get(f"{url}/cluster").json()["result"].get("peers", ())) == peers for url in urls):
                    return
            time.sleep(0.1)
    raise RuntimeError(f"The servers were no cluster of {peers} within 60 s")


def binary() -> str:
    """Return the server's program; skips the test where there is none."""
    found = os.environ.get("CARREL_QDRANT_BINARY")
    if not found:
        pytest.skip("set CARREL_QDRANT_BINARY to Qdrant's program")
    return found


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
