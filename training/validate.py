"""How good a model is: on pairs of packages it never saw, and on the retrieval benchmark."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from training.encode import FIELDS, HEAD, Corpus
from training.train import Parameters, Recipe, held_out, query_rows, unit, weighted


def vectors_of(p: Parameters, parts: dict[str, csr_matrix]) -> np.ndarray:
    """Return unit vectors of chunks."""
    total = sum(
        float(p.fields[i]) * (weighted(parts[f], p.head if f in HEAD else p.body) @ p.vectors) for i, f in enumerate(FIELDS)
    )
    return unit(total)[0]


def unseen(corpus: Corpus, p: Parameters, recipe: Recipe, candidates: int = 10_000, *, paths: bool = True) -> dict[str, float]:
    """Mean reciprocal rank of the right code among candidates of packages that training left out, with a 95 % interval over packages."""
    rng = np.random.default_rng(7)
    chosen = np.flatnonzero(held_out(corpus, recipe))
    chosen = rng.permutation(chosen)[:candidates]
    q = unit(weighted(query_rows([corpus.queries[i] for i in chosen], len(p.vectors)), p.query) @ p.vectors)[0]
    parts = {f: corpus.fields[f][chosen] for f in FIELDS}
    if not paths:
        for f in FIELDS[:2]:
            parts[f] = parts[f] * 0
    d = vectors_of(p, parts)
    rank = np.zeros(len(chosen))
    for at in range(0, len(chosen), 1000):
        scores = q[at : at + 1000] @ d.T
        own = scores[np.arange(len(scores)), np.arange(at, at + len(scores))]
        rank[at : at + 1000] = 1 + (scores > own[:, None]).sum(1)
    reciprocal = 1 / rank
    groups = [reciprocal[corpus.package[chosen] == k] for k in np.unique(corpus.package[chosen])]
    sums, sizes = np.array([g.sum() for g in groups]), np.array([len(g) for g in groups])
    draws = rng.integers(len(groups), size=(1000, len(groups)))
    means = np.sort(sums[draws].sum(1) / sizes[draws].sum(1))
    return {
        "mrr": round(float(reciprocal.mean()), 4),
        "low": round(float(means[25]), 4),
        "high": round(float(means[975]), 4),
        "candidates": len(chosen),
    }
