"""A repository that isn't checked out: published by the command line, named as a source, found by an editor's server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from tests.contract import qdrant_server
from tests.e2e.conftest import Start, paths
from tests.shop import write_files
from tests.waiting import until

QUESTION = "which function returns the exchange rate that is converted with"
RATES = (
    "class ExchangeRates:\n    def rate_for_invoice(self, currency, day):\n"
    '        """Return the exchange rate that an invoice of that day is converted with."""\n'
    "        return self.table[currency, day]\n"
)


def carrel(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "carrel", *arguments],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def billing(root: Path) -> Path:
    write_files(root, {"src/rates.py": RATES, "secrets.env": "KEY=1\n", ".gitignore": "secrets.env\n"})
    origin = ["remote", "add", "origin", "git@example.com:acme/billing.git"]
    for command in (["init", "-q"], origin, ["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@x", "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    return root


async def test_from_publishing_to_an_answer_and_a_server_that_is_gone(
    start: Start, project: Path, env: dict[str, str], tmp_path: Path
) -> None:
    url, process, _ = qdrant_server.start(qdrant_server.binary())
    name, server = f"billing-{uuid.uuid4().hex[:6]}", f"qdrant://{url.partition('://')[2]}"
    root = billing(tmp_path / "billing")
    published = await asyncio.to_thread(carrel, env, "publish", "--repo", name, "--to", server, "--path", str(root), "--json")
    report = json.loads(published.stdout)
    assert (published.returncode, report["chunks"], report["files"]) == (0, 2, 2), published.stderr
    (root / "new.py").write_text("x = 1\n")
    dirty = await asyncio.to_thread(carrel, env, "publish", "--repo", name, "--to", server, "--path", str(root))
    assert (dirty.returncode, "lacks 1 changed file" in dirty.stderr) == (1, True)
    added = await asyncio.to_thread(carrel, env, "sources", "add", f"{server}/{name}")
    assert added.returncode == 0, added.stderr
    try:
        async with start(project) as client:
            ask: dict[str, Any] = {"query": QUESTION, "limit": 5, "waitMs": 60_000}
            path = f"{name}@{report['commit'][:12]} src/rates.py"

            async def first_hit() -> Any:
                """Return the first hit once it is the source's, whose server may answer too late on a busy machine."""
                hits = (await client.request("carrel/search", ask))["hits"]
                return hits[0] if hits and hits[0]["path"] == path else None

            hit = await until(first_hit)
            assert (hit["startLine"], hit["endLine"], hit["notLocal"], hit["sourceId"]) == (1, 4, True, name)
            assert hit["uri"].startswith(f"{server}/{name}/src/rates.py?commit=")
            pack = await client.request("carrel/context", {"query": QUESTION, "trigger": "explicit"})
            assert f'file="{hit["path"]}" lines="1-4"' in pack["text"]
            assert "not on this machine" in pack["text"]
            [source] = [one for one in (await client.request("carrel/sources", {}))["sources"] if one["id"] == name]
            assert (source["state"], source["chunks"]) == ("ready", 2)

            async with start(root) as checkout:
                await checkout.request("carrel/search", ask)  # makes the index
                own = await checkout.request("carrel/search", ask)
                assert own["hits"][0]["path"] == "src/rates.py"
                assert not any(one.get("notLocal") for one in own["hits"])
                assert f"This workspace is a checkout of {name}" in json.dumps(own["plan"])

            process.kill()
            process.wait()
            login = await client.request("carrel/search", ask | {"query": "where is a login checked"})
            assert paths(login)[0] == "src/auth.py", "the workspace answers"
            assert f"The source {name} can't answer yet" in json.dumps(login["plan"])
    finally:
        process.kill()
