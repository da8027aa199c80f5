"""Play the incident of tests/e2e/test_incident.py with a real small model, and say how far it got.

    CARREL_LLAMA_PYTHON=llama/bin/python python -m tests.bench.incident WEIGHTS.gguf [RUNS]

The person approved the tools and agrees to each dangerous pipeline, but in the last run, where they decline: then nothing may
have been called. The weights are served by the real llama.cpp (`pip install xllamacpp` in an environment of its own).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.documents import write_documents
from tests.e2e.conftest import FILES
from tests.e2e.test_incident import DONE, QUESTION, SERVER, called
from tests.lsp_client import LspClient
from tests.shop import write_files

WINDOW = 8_192
SERVE = Path(__file__).parents[1] / "services" / "serve_gguf.py"


@contextmanager
def served(weights: Path) -> Iterator[str]:
    """Give the address of a server with these weights."""
    process = subprocess.Popen(
        [os.environ["CARREL_LLAMA_PYTHON"], str(SERVE), str(weights), str(WINDOW)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert process.stdout
    try:
        line = next((line for line in process.stdout if line.startswith("Listening on ")), "")
        if not line:
            raise SystemExit(f"llama.cpp can't serve {weights}")
        yield line.removeprefix("Listening on ").strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def play(folder: Path, url: str, model: str, *, agrees: bool) -> dict[str, Any]:
    """Ask the question once; return how far the model got."""
    runbooks, calls, shop = write_documents(folder / "runbooks"), folder / "calls", write_files(folder / "shop", FILES)
    env = {**os.environ, **{f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "DATA", "CACHE", "STATE")}}
    own = folder / "config" / "carrel"
    own.mkdir(parents=True)
    (own / "settings.toml").write_text(
        f"[sources.runbooks]\nfolder = '{runbooks}'\n[audit]\ntexts = true\n"
        f"[tools.servers.ops]\ncommand = '{sys.executable}'\nargs = ['{SERVER}', '{calls}']\n"
        f"[models.chat]\nprovider = 'openai'\nmodel = '{model}'\nbaseUrl = '{url}/v1'\nkey = 'none'\nwindow = {WINDOW}\n",
        "utf-8",
    )
    asked: list[str] = []
    client = await LspClient.spawn((sys.executable, "-P", "-m", "carrel", "serve"), env=env)

    def confirm(params: Any) -> Any:
        asked.append(params["what"])
        return {"allowed": agrees or params["what"] == "tools"}

    client.answers["carrel/confirm"] = confirm
    began = time.monotonic()
    try:
        await client.initialize(shop, capabilities={"experimental": {"carrel": {"confirm": True}}})
        await client.request("carrel/tools/list", {"refresh": True, "approve": True})
        await client.request("carrel/search", {"query": QUESTION, "waitMs": 60_000})
        try:
            asking = {"messages": [{"role": "user", "content": QUESTION}], "partialResultToken": "p"}
            answer = await client.request("carrel/chat", asking, timeout=1_200)
        except Exception as error:  # a failure is a result
            answer = {"text": "", "steps": [], "citations": [], "failed": f"{type(error).__name__}: {error}"[:300]}
        log = (await client.request("carrel/audit", {"limit": 200}))["entries"]
        await client.stop()
    finally:
        await client.kill()
    steps = [step for step in answer["steps"] if step["kind"].startswith("tool") or step["kind"] in ("repaired", "limit")]
    pipelines = [entry["details"] for entry in reversed(log) if entry["kind"] == "pipeline"]
    tools = [step.get("tool") for step in steps if step["kind"] in ("toolStarted", "toolRefused")]
    done = called(calls)
    return {
        "seconds": round(time.monotonic() - began),
        "agrees": agrees,
        "given first": (answer.get("pack") or {}).get("text", "").find("@runbooks/phoenix.md") >= 0,
        "searched documents": "search_knowledge_base" in tools,
        "searched tools": "search_tools" in tools,
        "pipelines": len(pipelines),
        "valid": sum(bool(run["challenge"]) for run in pipelines),
        "ran": sum(run["ran"] for run in pipelines),
        "asked": asked,
        "called": done,
        "as the runbook says": done == DONE,
        "cites": [cited["path"] for cited in answer["citations"] if cited["ok"]],
        "usage": answer.get("usage"),
        "steps": steps,
        "answer": answer["text"],
        **({"failed": answer["failed"]} if "failed" in answer else {}),
    }


def main() -> None:
    weights, runs = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with served(weights) as url:
        for number in range(runs):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                told = asyncio.run(play(Path(folder), url, weights.stem, agrees=number < runs - 1))
            if told["called"] and (not told["agrees"] or "pipeline" not in told["asked"]):
                moving = [call for call in told["called"] if not call.startswith(("query_", "search_"))]
                assert all(call.startswith("load_balancer") for call in moving), f"called without the person: {moving}"
            print(json.dumps(told, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
