"""Change a folder, index it and publish its vectors, again and again until killed.

Called as `python publisher.py ROOT CACHE SETTINGS SEED`.

With the seed `end` nothing is changed: what waits is published, and a comparison of all ids printed.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from carrel.composition.composition import Composition
from carrel.model.native import CancelToken
from carrel.settings.settings import Settings
from carrel.settings.store_settings import read_store
from carrel.system.background import run_blocking
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner

FILES = 12


def change(root: Path, chosen: random.Random) -> None:
    for number in chosen.sample(range(FILES), 3):
        path = root / f"module_{number}.py"
        if chosen.random() < 0.2:
            path.unlink(missing_ok=True)
            continue
        functions = [
            f"def handle_{number}_{part}(order, customer):\n    '''Handle case {chosen.randrange(1000)} of an order.'''\n"
            f"    return order.total_{part} + customer.discount_{chosen.randrange(9)}\n"
            for part in range(chosen.randrange(1, 15))
        ]
        path.write_text("\n\n".join(functions))


def main(root: Path, cache: str, store: Any, seed: str) -> None:
    settings = Settings(cache_folder=cache, store=read_store(store))
    composition = Composition()
    index = composition.open_index(root, settings)
    composition.attach_replica(index, settings)
    replica = index.replica
    assert replica is not None
    chosen = random.Random(seed)  # noqa: S311 - not for secrets
    print("ready", flush=True)
    while True:
        if seed != "end":
            change(root, chosen)
        IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
        run_blocking(replica.publish())
        if seed == "end":
            break
    found = run_blocking(replica.verify(mend=False))
    opened = replica._opened
    assert opened is not None

    async def ids() -> list[str]:
        return sorted([chunk async for page in opened.vectors.ids() for chunk in page])

    kept = run_blocking(ids())
    wanted = sorted(chunk for _, _, chunks in index.store.index_state() for chunk in chunks)
    print(json.dumps({"same": found.same, "equal": kept == wanted, "chunks": len(wanted), "kept": len(kept)}), flush=True)
    run_blocking(index.close_replica())
    index.store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])
