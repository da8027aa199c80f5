"""What the weights for changes are worth: `python -m tests.bench.changes CHECKOUTS`.

CHECKOUTS is a folder of git checkouts, each called `owner+name` and at the revision that training/histories.json has for it. The
weights were fitted on the newest commits of the repositories whose part there is `fit`; this asks those of the part `check`. Each
commit is asked for by its subject, with the weights for changes where the subject reads like one, and with those for questions.
Printed: the table of docs/quality.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from unittest import mock

import platformdirs
from msgspec.structs import replace
from tests.bench import history_cases
from tests.bench.quality import Figures, difference, indexed, mean

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import Embedder, Tokenizer
from carrel.model.types import Budget, Query
from carrel.pack.context import pack
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question import query_words
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import retrieve

HISTORIES = Path(__file__).parents[2] / "training" / "histories.json"
COMMITS = 80
"""So many of each repository, the newest."""
NEWEST = 4000
"""So far back they are looked for."""
BUDGETS = (500, 1000, 2000)
SHOWN = ("ndcg10", "hit1", "recall10", *(f"pack of {tokens}" for tokens in BUDGETS))


read = query_words.read


def as_a_question(text: str) -> query_words.ParsedQuery:
    """A text taken apart as if it asked for no change."""
    return replace(read(text), is_change=False)


def figures(view: SnapshotView, embedder: Embedder, tokenizer: Tokenizer, case: history_cases.Case) -> dict[str, float]:
    """How well the files of a commit are found, and what packs show of them."""
    hits = retrieve(view, prepare_blocking(Query(case.question, limit=history_cases.CUTOFF), embedder), CancelToken()).hits
    paths = [hit.chunk.path for hit in hits]
    told = {
        "ndcg10": history_cases.ndcg(paths, case.paths),
        "hit1": float(bool(paths) and paths[0] in case.paths),
        "recall10": len(case.paths & set(paths)) / len(case.paths),
    }
    for tokens in BUDGETS:
        items = pack(hits, Budget(tokens, "tokens"), tokenizer, query=case.question, read_lines=view.lines).items
        told[f"pack of {tokens}"] = len(case.paths & {item.hit.chunk.path for item in items}) / len(case.paths)
    return told


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, help="a folder of git checkouts")
    parser.add_argument("--part", choices=("check", "fit"), default="check", help="which repositories to ask")
    parser.add_argument("--out", type=Path, help="write the figures of each commit as JSON")
    arguments = parser.parse_args()
    embedder, tokenizer, place = bundled(), ExactTokenizer(), Path(platformdirs.user_cache_dir("carrel-bench-index")) / "changes"
    base: Figures = {}
    ours: Figures = {}
    changes: set[str] = set()
    for history in json.loads(HISTORIES.read_text()):
        if history["part"] != arguments.part:
            continue
        folder = arguments.checkouts.resolve() / history["name"].replace("/", "+")
        if not (folder / ".git").exists():
            sys.exit(f"{folder} is not there: check out {history['revision']} of {history['name']} there")
        store, view = indexed(str(folder), embedder, place)
        for case in history_cases.cases(history(folder, NEWEST) or (), set(view.paths()), COMMITS):
            identity = f"{history['name']}#{case.sha}"
            ours[identity] = base[identity] = figures(view, embedder, tokenizer, case)
            if read(case.question).is_change:
                changes.add(identity)
                with mock.patch.object(query_words, "read", as_a_question):
                    base[identity] = figures(view, embedder, tokenizer, case)
        del store, view
    print(f"{len(ours)} commits, {len(changes)} of them read like changes\n")
    print("| | all, as questions | with weights for changes | difference | 95 % | of those that read like changes | 95 % |")
    print("|" + " --- |" * 7)
    for key in SHOWN:
        parts = [
            difference({i: base[i] for i in chosen}, {i: ours[i] for i in chosen}, key)
            for chosen in (sorted(ours), sorted(changes))
        ]
        told = " | ".join(f"{d:+.4f} | [{low:+.4f}, {high:+.4f}]" for d, low, high in parts)
        print(f"| {key} | {mean(base, key):.4f} | {mean(ours, key):.4f} | {told} |")
    if arguments.out:
        arguments.out.write_text(json.dumps({"questions": base, "changes": ours}))


if __name__ == "__main__":
    main()
