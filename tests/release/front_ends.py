"""Every front end at work on a small project, as a program of its own: `front_ends.py FOLDER [--alone]`.

With `--alone` it runs in a network that leads nowhere (`unshare --net`). At the end it prints which addresses it tried first, on
purpose, and how many packets and connections of Carrel's the system refused for want of a route.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from tests.e2e import editor  # noqa: E402
from tests.frontends.chat_proxy.conftest import Server, Shop, Upstream, end, listening  # noqa: E402
from tests.lsp_client import LspClient  # noqa: E402
from tests.shop import SHOP, environment, write_files  # noqa: E402
from tests.waiting import wait_until  # noqa: E402

from carrel.frontends.agents.meeting_place import program  # noqa: E402

ASKED = "How is a login checked against the user table?"
CARREL = (sys.executable, "-m", "carrel")
NOWHERE = ("192.0.2.1", "2001:db8::1")
SETTINGS_OF_OTHERS = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def command_line(project: Path, env: dict[str, str]) -> None:
    folder = str(project)
    commands = [["index", folder], ["search", ASKED, "--path", folder], ["context", ASKED, "--path", folder], ["status", folder]]
    for words in [*commands, ["doctor", folder], ["models", "list"], ["audit"], ["agents", "status"]]:
        done = subprocess.run([*CARREL, *words], env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 or words[0] == "doctor", (words, done.stderr)


async def language_server(project: Path, env: dict[str, str]) -> None:
    async with LspClient.started(project, env=env, options={"ragEnabled": True}) as client:
        await client.request("carrel/index", {})
        answer = await client.request("carrel/augment", {"text": ASKED, "query": ASKED, "budget": {"tokens": 500}})
        assert "authenticate_user" in answer["text"]
        await client.request("carrel/providers", {})


def assistant(project: Path, env: dict[str, str]) -> None:
    process = subprocess.Popen([*CARREL, "mcp", "--root", str(project)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    editor.write(process.stdin, {"id": 1, "method": "initialize", "params": client}, lines=True)
    assert b"result" in editor.read(process.stdout, lines=True)
    editor.write(process.stdin, {"method": "notifications/initialized"}, lines=True)
    call = {"name": "search_code", "arguments": {"query": ASKED}}
    editor.write(process.stdin, {"id": 2, "method": "tools/call", "params": call}, lines=True)
    while json.loads(line := editor.read(process.stdout, lines=True)).get("id") != 2:
        pass
    assert b"authenticate_user" in line
    process.stdin.close()
    process.wait(60)
    process.stdout.close()


def chat_proxy(project: Path, env: dict[str, str]) -> None:
    server = Server(Upstream())
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    proxy = listening(Shop(project, env), f"http://127.0.0.1:{server.server_port}")
    try:
        body = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
        request = urllib.request.Request(f"{proxy.url}/v1/chat/completions", json.dumps(body).encode())  # noqa: S310 - loopback
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            assert answer.status == 200
        assert "authenticate_user" in json.dumps(server.upstream.requests[-1][2])
    finally:
        end(proxy)
        server.shutdown()
        server.server_close()
        thread.join()


def terminal_agent(project: Path, env: dict[str, str]) -> None:
    """Ask until the server behind the hook has an index; end it as a hook of another version does."""
    (project / ".git").mkdir(exist_ok=True)

    def asked() -> bool:
        raw = json.dumps({"cwd": str(project), "prompt": ASKED}).encode()
        done = subprocess.run([program(), "codex"], input=raw, env=env, capture_output=True, timeout=60, check=True)
        return b"authenticate_user" in done.stdout

    wait_until(asked)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(Path(env["XDG_RUNTIME_DIR"]) / "carrel/agents.sock"))
        client.sendall(b"carrel-hook/1 9.9.9 codex 2\n{}")
        client.recv(100)


def bring_loopback_up() -> None:
    import fcntl  # noqa: PLC0415 - of POSIX

    up = b"lo".ljust(16, b"\0") + (0x1 | 0x40).to_bytes(2, "little").ljust(22, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS


def refused() -> int:
    """Return how often the system found no route, since this network was made."""
    lines = [line.split() for line in Path("/proc/self/net/snmp").read_text("ascii").splitlines() if line.startswith("Ip:")]
    six = dict(line.split() for line in Path("/proc/self/net/snmp6").read_text("ascii").splitlines())
    return int(lines[1][lines[0].index("OutNoRoutes")]) + int(six["Ip6OutNoRoutes"])


def try_to_leave() -> None:
    for family, kind, address in (
        (socket.AF_INET, socket.SOCK_STREAM, NOWHERE[0]),
        (socket.AF_INET, socket.SOCK_DGRAM, NOWHERE[0]),
        (socket.AF_INET6, socket.SOCK_STREAM, NOWHERE[1]),
    ):
        with suppress(OSError), socket.socket(family, kind) as doomed:
            doomed.connect((address, 53))


def main() -> None:
    folder = Path(sys.argv[1])
    on_purpose = 0
    if "--alone" in sys.argv:
        bring_loopback_up()
        try_to_leave()
        on_purpose = refused()
        assert on_purpose >= 2, "the count sees who tries"
    project = write_files(folder / "shop", SHOP)
    (folder / "r").mkdir(mode=0o700)
    proxies = {name for name in os.environ if name.upper() in SETTINGS_OF_OTHERS}
    env = {name: value for name, value in os.environ.items() if name not in proxies}
    env |= {**environment(folder / "h"), "XDG_RUNTIME_DIR": str(folder / "r")}
    command_line(project, env)
    asyncio.run(language_server(project, env))
    assistant(project, env)
    chat_proxy(project, env)
    if sys.platform != "win32":
        terminal_agent(project, env)
    if "--alone" in sys.argv:
        print(json.dumps({"on purpose": NOWHERE, "by Carrel": refused() - on_purpose}))


if __name__ == "__main__":
    main()
