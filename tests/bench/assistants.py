"""What a reranker, another embedding model and further reading are worth: `python -m tests.bench.assistants PART …`.

    bound FOLDER         a perfect, a random and an inverted reranker of the best 30 candidates, on the 760
    rerank FOLDER URL    a real small model at URL (tests/bench/minilm_server.py) as reranker
    embed FOLDER URL     the same as embedding model
    reading              a perfect reader that opens more lines of the files that a pack shows, on the labelled lines

FOLDER is that of `tests.bench.quality`. What `rerank` and `embed` ask was fixed before anything was seen: for the
reranker every fifth question of each repository that was held out of fitting; for the embedding model all questions of
those of them with the fewest chunks, so many that 6,000 chunks aren't exceeded. Each figure stands beside that of the
same questions without the model.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import platformdirs
from tests.bench.quality import HELD_OUT, Bench, Figures, Task, difference, mean
from tests.bench.spans import Lines, answering, packed
from tests.bench.spans_packages import packages, sources
from tests.support.indexing import run_index_blocking

from carrel.assist.assisted_retrieval import ALONE, Assistants, Question, retrieve_assisted_blocking
from carrel.composition.models import embedders, rerankers
from carrel.model.fakes import fake_outbound
from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.ports import Embedder, Reranker, RerankerSpec
from carrel.model.remote import RemoteEmbedder
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.search.retriever import Ranking, read
from carrel.settings.model_settings import ModelSettings

Kind = Literal["perfect", "random", "inverted"]
HITS = 50
CANDIDATES = 30
MODEL = "all-MiniLM-L6-v2"
DIM = 384
MOST_CHUNKS = 6_000
EVERY = 5
MEASURES = ("ndcg10", "hit1", "recall10", "recall@1000t")
READ_LINES = 120
"""What `read_lines` gives where the model doesn't say how many."""
Ranked = list[tuple[str, int, int]]


class ScriptedReranker:
    """Knows the labels, and tells the truth, the opposite of it, or whatever comes."""

    def __init__(self, kind: Kind, task: Task, matches: Callable[[str, str], bool]) -> None:
        self.spec = RerankerSpec(kind, candidates=CANDIDATES)
        self._kind, self._query = kind, task["query"]
        self._wanted = [target[0] for target in task["targets"]]
        self._matches = matches

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:  # noqa: ARG002 - the port's names
        """Return 1 for the first text of each wanted file, and less the further behind for the others; or 1 less that."""
        if self._kind == "random":
            chance = random.Random(self._query)  # noqa: S311 - repeatable, no secret
            return [chance.random() for _ in texts]
        paths = [text.partition("\n")[0] for text in texts]
        firsts = {next((at for at, path in enumerate(paths) if self._matches(path, wanted)), -1) for wanted in self._wanted}
        scores = [1.0 if at in firsts else 0.5 - at / (4 * len(texts)) for at in range(len(texts))]
        return scores if self._kind == "perfect" else [1.0 - score for score in scores]


def asked(task: Task, view: Snapshot, embedder: Embedder, reranker: Reranker | None, candidates: int | None = None) -> Ranked:
    """Ask a question by Carrel's own way, with patience; a model that doesn't help ends the program."""
    models = Assistants(reranker=reranker, reranker_seconds=120, candidates=candidates) if reranker else ALONE
    query = Query(task["query"], limit=min(HITS, candidates or HITS))  # all hits that are asked for are judged

    def finish(ranking: Ranking, token: CancelToken) -> Ranked:
        if ranking.diagnostics.problem:
            sys.exit(f"A question had no help: {ranking.diagnostics.problem}")
        hits = read(ranking, query, token).hits
        spans = ((hit.chunk.path, hit.focus or (hit.chunk.span.start_line, hit.chunk.span.end_line)) for hit in hits)
        return [(path, *lines) for path, lines in spans]

    return retrieve_assisted_blocking(Question(query), lambda: view, embedder, models, finish, CancelToken())


def compared(base: Figures, others: dict[str, Figures]) -> None:
    """Print a table: without, and with the difference and its interval over repositories."""
    print("| | n | NDCG@10 | hit@1 | recall@10 files | recall@1000t | difference of NDCG@10 | 95 % |\n|" + " --- |" * 8)
    for name, figures in {"without": base, **others}.items():
        cells = " | ".join(f"{mean(figures, key):.3f}" for key in MEASURES)
        moved, low, high = difference(base, figures)
        change = "| |" if figures is base else f"| {moved:+.3f} | [{low:+.3f}, {high:+.3f}] |"
        print(f"| {name} | {len(figures)} | {cells} {change}", flush=True)


def held_out(tasks: Sequence[Task]) -> list[str]:
    """The repositories that had no part in fitting, as in `tests.bench.quality`."""
    names = sorted({task["repo"] for task in tasks})
    return sorted(random.Random(7).sample(names, min(HELD_OUT, len(names))))  # noqa: S311 - repeatable, no secret


def bound(bench: Bench) -> None:
    """Print what a reranker can add, and what it can spoil."""
    tasks, embedder = bench.tasks("queries"), bundled()
    aside = set(held_out(tasks))

    def ordered(kind: Kind) -> Callable[[Task], Ranked]:
        def ranked(task: Task) -> Ranked:
            reranker = ScriptedReranker(kind, task, bench.scorer.path_matches)
            return asked(task, bench.view(task["repo_dir"]), embedder, reranker, CANDIDATES)

        return ranked

    for name, chosen in (("all", tasks), ("held out of fitting", [task for task in tasks if task["repo"] in aside])):
        print(f"\n{name}")
        figures = {f"{kind} order of the best {CANDIDATES}": bench.figures(chosen, ordered(kind)) for kind in get_args(Kind)}
        compared(bench.figures(chosen, lambda task: asked(task, bench.view(task["repo_dir"]), embedder, None)), figures)


def rerank(bench: Bench, url: str) -> None:
    """Print what a real small model is worth as reranker."""
    tasks, outbound = bench.tasks("queries"), fake_outbound()
    aside, own = held_out(tasks), bundled()
    chosen = [task for name in aside for at, task in enumerate(t for t in tasks if t["repo"] == name) if at % EVERY == 0]
    reranker = rerankers().make(ModelSettings(provider="cohere", base_url=f"{url}/v2", model=MODEL, key="none"), outbound)

    def judged(many: int) -> Callable[[Task], Ranked]:
        return lambda task: asked(task, bench.view(task["repo_dir"]), own, reranker, many)

    def alone(task: Task) -> Ranked:
        return asked(task, bench.view(task["repo_dir"]), own, None)

    print(f"\nas reranker, every {EVERY}th question of {', '.join(aside)}")
    began = time.perf_counter()
    figures = {f"{MODEL} orders the best {many}": bench.figures(chosen, judged(many)) for many in (100, 30, 10)}
    compared(bench.figures(chosen, alone), figures)
    print(f"{time.perf_counter() - began:.0f} s in all")


def embed(bench: Bench, url: str) -> None:
    """Print what a real small model is worth in place of the bundled one."""
    tasks, outbound = bench.tasks("queries"), fake_outbound()
    aside, own = held_out(tasks), bundled()

    def alone(task: Task) -> Ranked:
        return asked(task, bench.view(task["repo_dir"]), own, None)

    folders = {task["repo"]: task["repo_dir"] for task in tasks}
    sizes = {name: bench.view(folders[name]).chunks for name in aside}
    small, total = [], 0
    for name in sorted(sizes, key=lambda one: sizes[one]):
        if total + sizes[name] <= MOST_CHUNKS:
            small.append(name)
            total += sizes[name]
    remote = embedders().make(ModelSettings(provider="openai", base_url=f"{url}/v1", model=MODEL, key="none"), outbound)
    if not isinstance(remote, RemoteEmbedder):
        sys.exit("The embedding model isn't one that asks a service.")
    remote = remote.with_dim(DIM)
    place = Path(platformdirs.user_cache_dir("carrel-bench-index")) / "minilm"
    began = time.perf_counter()
    views = {name: _indexed(folders[name], remote, place / name) for name in small}
    print(f"\nas embedding model, {', '.join(small)}: {total:,} chunks in {time.perf_counter() - began:.0f} s")
    chosen = [task for task in tasks if task["repo"] in views]
    other = bench.figures(chosen, lambda task: asked(task, views[task["repo"]][1], remote, None))
    compared(bench.figures(chosen, alone), {f"{MODEL} in place of the bundled model": other})


def _indexed(root: str, embedder: RemoteEmbedder, place: Path) -> tuple[Store, Snapshot]:
    spec = embedder.spec
    store = Store.open(str(place), root, embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions())
    report = run_index_blocking(store, embedder, CancelToken())
    if report.failed:
        sys.exit(f"{report.failed} files of {root} weren't embedded")
    return store, store.snapshot()


def reading() -> None:
    """Print which share of the answering lines a perfect reader sees after opening more of the files that it was shown."""
    cache = Path(platformdirs.user_cache_dir("carrel-bench-spans"))
    embedder, tokenizer = bundled(), ExactTokenizer()
    shares: dict[str, list[tuple[bool, float]]] = {}
    for package in packages():
        root = sources(package, cache / "packages")
        store = Store.open(
            str(cache / "indexes" / "assistants" / root.name),
            str(root),
            embedder_id=embedder.spec.id,
            dim=embedder.spec.dim,
            walk=WalkOptions(),
            cut=CutOptions(),
        )
        run_index_blocking(store, embedder, CancelToken())
        view = store.snapshot()
        texts = {path: text for path in view.paths() if (text := view.text(path)) is not None}
        for question in package.questions:
            wanted = answering(question, texts)

            def note(name: str, seen: Lines, wanted: Lines = wanted, aside: bool = package.kept_aside) -> None:
                shares.setdefault(name, []).append((aside, len(wanted & seen) / len(wanted)))

            first = packed(view, question.question, 2_000, embedder, tokenizer, hits=5)
            once = first | best_read(wanted - first, first)
            wider = packed(view, question.question, 4_000, embedder, tokenizer, hits=10)
            note("a pack of 2k tokens, 5 hits", first)
            note(f"then the best {READ_LINES} lines of a file that it shows", once)
            note("then the best again", once | best_read(wanted - once, once))
            note(
                f"then the best {READ_LINES} lines of any file: a perfect second search",
                first | best_read(wanted - first, wanted),
            )
            note("a pack of 4k tokens, 10 hits, in its place", wider)
            note("then the best lines of a file that it shows", wider | best_read(wanted - wider, wider))
        store.close()
    print("| what was read | all: lines | wholly | kept aside: lines | wholly |\n|" + " --- |" * 5)
    for name, values in shares.items():
        groups = ([share for _, share in values], [share for aside, share in values if aside])
        cells = (f"{100 * statistics.fmean(g):.1f} | {100 * statistics.fmean(s == 1 for s in g):.0f}" for g in groups)
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"n = {len(values)}")


def best_read(missing: Lines, shown: Lines) -> Lines:
    """The lines of one read of a file that was shown that hold most of what is missing."""
    files = {path for path, _ in shown}
    here = [line for line in missing if line[0] in files]
    best = max(
        ((path, start) for path, start in here),
        key=lambda one: sum(path == one[0] and one[1] <= number < one[1] + READ_LINES for path, number in here),
        default=None,
    )
    return {(best[0], number) for number in range(best[1], best[1] + READ_LINES)} if best else set()


def main() -> None:
    """Print the tables of a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("bound", "rerank", "embed", "reading"))
    parser.add_argument("folder", type=Path, nargs="?", help="where the benchmark's evaluate.py and labels lie")
    parser.add_argument("url", nargs="?", default="", help="of the server that tests/bench/minilm_server.py starts")
    arguments = parser.parse_args()
    if arguments.part == "reading":
        reading()
        return
    if arguments.folder is None or (arguments.part != "bound" and not arguments.url):
        parser.error("FOLDER is missing, or URL")
    bench = Bench(arguments.folder, bundled(), "bundled")
    if arguments.part == "bound":
        bound(bench)
    else:
        {"rerank": rerank, "embed": embed}[arguments.part](bench, arguments.url)


if __name__ == "__main__":
    main()
