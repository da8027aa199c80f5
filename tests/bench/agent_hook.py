"""What a prompt's hook costs: `python -m tests.bench.agent_hook FOLDER [RUNS]` prints one JSON object.

Whole hooks: the program is started for each prompt, asks the server over its socket, and prints context. Beside it, in turns,
stand `true`, and `node -e 0`, which a hook in JavaScript would take at least. Processor time is that of the client and the
server together, less that of the same searches in one process with the same budget.
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.frontends.agents.conftest import Hooks
from tests.waiting import wait_until

import carrel
from carrel.frontends.agents.meeting_place import program
from carrel.model.types import Budget

QUESTIONS = (
    "where is a configuration file parsed?",
    "How are default values of an option read from the environment?",
    "open a file and close it when the context ends",
    "which function formats an error message?",
    "convert a string to an integer and check its bounds",
)
BUDGET = Budget(1_500, "tokens")
STEERING = ("go on", "no, the other one", "commit this", "run the tests again", "yes")


def main(folder: Path, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="u") as scratch:
        hooks = Hooks(Path(scratch))
        try:
            wait_until(lambda: any("hookSpecificOutput" in hooks.ask(folder, question) for question in QUESTIONS), 600)
            (server,) = hooks.servers()
            _settle(server)
            result = {"asking": _measured(hooks, server, folder, QUESTIONS, runs)}
            result["steering"] = _measured(hooks, server, folder, STEERING, runs)
        finally:
            hooks.end()
        with carrel.Index(folder) as index:
            index.index()
            result["search"] = {"processorMs": _searches(index, runs)}
    return {"folder": folder.name, "runs": runs, **result}


def _settle(server: Any) -> None:
    """Wait until the first index is made: its work would count."""
    before = -1.0
    while (now := sum(server.cpu_times()[:2])) != before:
        before = now
        time.sleep(2)


def _measured(hooks: Hooks, server: Any, folder: Path, prompts: tuple[str, ...], runs: int) -> dict[str, Any]:
    node = shutil.which("node")
    others = {"true": ["true"], **({"node": [node, "-e", "0"]} if node else {})}
    times: dict[str, list[float]] = {name: [] for name in ("hook", *others)}
    client = 0.0
    before = sum(server.cpu_times()[:2])
    for number in range(runs):
        asked = json.dumps({"cwd": str(folder), "prompt": prompts[number % len(prompts)], "session_id": f"s{number}"}).encode()
        used = _children()
        times["hook"].append(_time(lambda asked=asked: _run([str(program()), "claude-code"], asked, hooks.env)))  # type: ignore[misc]
        client += _children() - used
        for name, command in others.items():
            times[name].append(_time(lambda command=command: _run(command, b"", hooks.env)))  # type: ignore[misc]
    served = sum(server.cpu_times()[:2]) - before
    return {
        **{f"{name}Ms": round(statistics.median(of), 1) for name, of in times.items()},
        "slowestMs": round(max(times["hook"]), 1),
        "clientProcessorMs": round(1000 * client / runs, 1),
        "serverProcessorMs": round(1000 * served / runs, 1),
    }


def _searches(index: carrel.Index, runs: int) -> float:
    for question in QUESTIONS:
        index.context(question, BUDGET)
    began = time.process_time()
    for number in range(runs):
        index.context(QUESTIONS[number % len(QUESTIONS)], BUDGET)
    return round(1000 * (time.process_time() - began) / runs, 1)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(command: list[str], given: bytes, env: dict[str, str]) -> None:
    subprocess.run(command, input=given, env=env, stdout=subprocess.DEVNULL, check=True)


def _time(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 20), indent=1))
