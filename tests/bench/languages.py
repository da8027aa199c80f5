"""What a question loses that isn't English: `python -m tests.bench.languages FOLDER [--out FILE]`.

FOLDER is that of `tests.bench.quality`. `languages.json` holds 66 of its questions in five more languages, names and code as they
are. Those that are kept aside were written when the glossary was done.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.bench.quality import Bench, Figures, difference, mean

from carrel.providers.local import bundled

QUESTIONS = Path(__file__).parent / "languages.json"
NAMES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "zh": "Chinese", "ru": "Russian"}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, help="write the figures of each question as JSON")
    arguments = parser.parse_args()
    bench = Bench(arguments.folder, bundled(), "bundled")
    every: dict[str, dict[str, dict[str, str]]] = json.loads(QUESTIONS.read_text("utf-8"))
    found: dict[str, dict[str, Figures]] = {}
    for which, told in every.items():
        tasks = [task for task in bench.tasks("queries") if task["id"] in told]
        print(f"\n| {which}, {len(tasks)} | NDCG@10 | hit@1 | recall@10 files | to English | 95 % |\n|" + " --- |" * 6)
        figures = found[which] = {}
        for language, name in NAMES.items():
            asked = [task if language == "en" else {**task, "query": told[task["id"]][language]} for task in tasks]
            here = figures[language] = bench.figures(asked, bench.ranked)
            loss, low, high = difference(figures["en"], here)
            shown = " | ".join(f"{mean(here, key):.3f}" for key in ("ndcg10", "hit1", "recall10"))
            print(f"| {name} | {shown} | {loss:+.3f} | [{low:+.3f}, {high:+.3f}] |", flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
