"""The real Qdrant server: that of `CARREL_QDRANT_URL`, or the program `CARREL_QDRANT_BINARY`, started once for all tests."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
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
    process = subprocess.Popen(
        [program, "--config-path", str(folder / "config.yaml"), "--disable-telemetry"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )

    def stop() -> None:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    url = f"http{'s' if certificate else ''}://127.0.0.1:{port}"
    end = time.monotonic() + 30
    with httpx.Client(trust_env=False, verify=not certificate) as client:
        while time.monotonic() < end:
            try:
                if client.get(f"{url}/healthz").is_success:
                    return url, process, folder
            except httpx.TransportError:
                time.sleep(0.05)
    raise RuntimeError("Qdrant didn't answer within 30 s")


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
