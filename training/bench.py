"""The retrieval benchmark's corpora as arrays, to compare models in seconds.

Two ways of cutting: `lines`, windows of 50 lines, comparable with published figures, and `defs`, one chunk per
definition with the lines in between, which is close to what Carrel's index holds.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
from scipy.sparse import csr_matrix

from training.encode import FIELDS, HEAD, Rows, fields_of
from training.grammar import LANGUAGES, definitions
from training.places import WORK
from training.tokeniser import Tokeniser, words
from training.train import Parameters, unit, weighted

EXTRA = {
    "vue",
    "svelte",
    "rake",
    "bats",
    "m",
    "hxx",
    "inl",
    "def",
    "kts",
    "sc",
    "json",
    "md",
    "yml",
    "yaml",
    "toml",
    "erb",
    "tcl",
}


@dataclass(slots=True)
class Repo:
    """One repository's chunks."""

    places: list[tuple[str, int, int]] = field(default_factory=list)
    texts: list[dict[str, str]] = field(default_factory=list)


def scorer(folder: str) -> ModuleType:
    """Return the benchmark's own evaluate.py."""
    spec = importlib.util.spec_from_file_location("evaluate", Path(folder) / "evaluate.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(folder)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cut(path: str, data: bytes, way: str) -> list[tuple[int, int, str, str, str, str]]:
    """(first line, last line, symbol, container, signature, text) of each chunk."""
    lines = data.decode("utf-8", "replace").split("\n")
    out = []
    at = 0
    if way == "defs" and (language := LANGUAGES.get(path.rpartition(".")[2].lower())):
        for item in sorted(definitions(data, language), key=lambda item: item.line):
            last = min(len(lines), item.line + 1 + item.body.count("\n") + 1)
            if item.line < at or (item.is_class and last - item.line > 30):
                continue
            first = item.line
            while first > at and re.match(r"\s*(//|#|\*|/\*|--|@|\{-|\"\"\")", lines[first - 1]):
                first -= 1
            out += [
                (s + 1, min(s + 40, first), "", item.container, "", "\n".join(lines[s : min(s + 40, first)]))
                for s in range(at, first, 40)
            ]
            out.append((first + 1, last, item.name, item.container, item.signature, "\n".join(lines[first:last])[:8000]))
            at = last
    out += [(s + 1, min(s + 50, len(lines)), "", "", "", "\n".join(lines[s : s + 50])) for s in range(at, len(lines), 50)]
    return [chunk for chunk in out if len(chunk[5].strip()) >= 20]


def read(tasks: list[dict[str, str]], way: str) -> dict[str, Repo]:
    """Chunks of every repository that has questions."""
    repos: dict[str, Repo] = {}
    for folder in dict.fromkeys(task["repo_dir"] for task in tasks):
        repo = repos[folder] = Repo()
        for root, folders, files in os.walk(folder):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in {"node_modules", "vendor"})
            for name in sorted(files):
                extension = name.rpartition(".")[2].lower()
                file = Path(root) / name
                if (extension not in LANGUAGES and extension not in EXTRA and "." in name) or file.stat().st_size > 500_000:
                    continue
                data = file.read_bytes()
                if b"\0" in data[:4000]:
                    continue
                path = file.relative_to(folder).as_posix()
                for first, last, symbol, container, signature, text in cut(path, data, way):
                    repo.places.append((path, first, last))
                    repo.texts.append(fields_of(path, symbol, container, signature, text))
    return repos


class Bench:
    """Tasks, corpora and questions, tokenised once."""

    def __init__(self, folder: str, entries: list[str], way: str, which: str = "queries") -> None:
        self.scorer = scorer(folder)
        self.tasks = self.scorer.load_tasks(which)
        self.way = way
        cached = WORK / f"bench-{which}-{way}.pickle"
        if cached.exists():
            repos = pickle.loads(cached.read_bytes())  # noqa: S301 - written by the line below
        else:
            repos = read(self.tasks, way)
            cached.write_bytes(pickle.dumps(repos))
        tokeniser = Tokeniser(entries)
        self.repos: dict[str, Repo] = repos
        self.fields: dict[str, dict[str, csr_matrix]] = {}
        self.words: dict[str, list[dict[str, float]]] = {}
        for name, repo in repos.items():
            rows = {f: Rows() for f in FIELDS}
            for texts in repo.texts:
                for f in FIELDS:
                    rows[f].add(tokeniser.encode(texts[f]))
            self.fields[name] = {f: rows[f].matrix(len(entries)) for f in FIELDS}
        questions = Rows()
        for task in self.tasks:
            questions.add(tokeniser.encode(task["query"]))
        self.questions = questions.matrix(len(entries))
        self.by_repo = defaultdict(list)
        for i, task in enumerate(self.tasks):
            self.by_repo[task["repo_dir"]].append(i)
        self._bm25: dict[int, np.ndarray] = {}

    def dense(self, p: Parameters, fields: dict[str, float] | None = None) -> dict[int, np.ndarray]:
        """Cosine of every chunk of its repository, per task."""
        weights = fields or dict(zip(FIELDS, p.fields, strict=True))
        query, _ = unit(weighted(self.questions, p.query) @ p.vectors)
        out = {}
        for name, tasks in self.by_repo.items():
            parts = self.fields[name]
            vectors, _ = unit(
                sum(float(weights[f]) * (weighted(parts[f], p.head if f in HEAD else p.body) @ p.vectors) for f in FIELDS)
            )
            scores = query[tasks] @ vectors.T
            out.update(dict(zip(tasks, scores, strict=True)))
        return out

    def bm25(self) -> dict[int, np.ndarray]:
        """BM25 over words of body and path, per task."""
        if self._bm25:
            return self._bm25
        for name, tasks in self.by_repo.items():
            index: dict[str, int] = {}
            rows, columns, values, lengths = [], [], [], []
            for i, texts in enumerate(self.repos[name].texts):
                counts: dict[int, int] = defaultdict(int)
                for word in words(" ".join((texts["body"], texts["dirs"], texts["stem"]))):
                    counts[index.setdefault(word, len(index))] += 1
                rows += [i] * len(counts)
                columns += list(counts)
                values += list(counts.values())
                lengths.append(sum(counts.values()))
            n = len(lengths)
            counts_of = csr_matrix((np.array(values, np.float32), (rows, columns)), shape=(n, len(index))).tocsc()
            length = np.array(lengths, np.float32) / (np.mean(lengths) + 1e-9)
            for task in tasks:
                scores = np.zeros(n, np.float32)
                for word in set(words(self.tasks[task]["query"])):
                    if word in index:
                        column = counts_of[:, index[word]]
                        tf, at = column.data, column.indices
                        idf = np.log(1 + (n - len(at) + 0.5) / (len(at) + 0.5))
                        scores[at] += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length[at]))
                self._bm25[task] = scores
        return self._bm25

    def ranked(self, scores: dict[int, np.ndarray], k: int = 50) -> dict[str, list[tuple[str, int, int]]]:
        """Return the best chunks of each task."""
        out = {}
        for i, task in enumerate(self.tasks):
            places = self.repos[task["repo_dir"]].places
            out[task["id"]] = [places[j] for j in np.argsort(-scores[i], kind="stable")[:k]]
        return out

    def fused(self, *arms: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Reciprocal rank fusion."""
        out = {}
        for i in range(len(self.tasks)):
            total = np.zeros(len(arms[0][i]), np.float32)
            for arm in arms:
                order = np.argsort(-arm[i], kind="stable")[:250]
                total[order] += (1 / (60 + np.arange(1, len(order) + 1))) * (arm[i][order] != 0)
            out[i] = total
        return out

    def report(self, scores: dict[int, np.ndarray], out: Path) -> dict[str, float]:
        """Return the benchmark's full figures, kept for paired comparison."""
        results = self.ranked(scores)
        per = {task["id"]: self.scorer.score(task, results[task["id"]]) for task in self.tasks}
        summary = self.scorer.summarize(self.tasks, per)
        out.write_text(json.dumps({"summary": summary, "per_query": per}))
        print(
            out.name,
            {
                k: v
                for k, v in summary["overall"].items()
                if k in {"ndcg10", "recall10", "recall@500t", "recall@1000t", "recall@2000t"}
            },
            file=sys.stderr,
        )
        return summary["overall"]  # type: ignore[no-any-return]
