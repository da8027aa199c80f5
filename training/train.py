"""Contrastive tuning: pull each question to its code, away from the other code of its package.

A chunk's vector is the normalised sum, over its fields, of `field weight x token weight x (1 + ln count) x token
vector`; a question's likewise with token weights of its own. Token vectors, the three tables of token weights (questions,
heads, bodies), the field weights and the temperature are learned by symmetric InfoNCE with Adam. The gradients are
written out by hand over sparse matrices: no framework is needed and the same seed gives the same file.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from training.encode import FIELDS, HEAD, Corpus
from training.places import WORK

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a training run may change."""

    seed: int = 1
    epochs: int = 3
    batch: int = 2048
    block: int = 64
    rate: float = 2e-3
    weight_rate: float = 1e-2
    path_kept: float = 0.6
    head_kept: float = 0.8
    held_out: float = 0.04


@dataclass(slots=True)
class Parameters:
    """All that is learned. Token weights are kept as logarithms, so that they stay positive."""

    vectors: Array
    query: Array
    head: Array
    body: Array
    fields: Array
    temperature: Array

    def arrays(self) -> dict[str, Array]:
        """By name."""
        return {name: getattr(self, name) for name in ("vectors", "query", "head", "body", "fields", "temperature")}


@dataclass(slots=True)
class Adam:
    """Adam with a rate per array."""

    rates: dict[str, float]
    step: int = 0
    first: dict[str, Array] = field(default_factory=dict)
    second: dict[str, Array] = field(default_factory=dict)

    def update(self, parameters: Parameters, gradients: dict[str, Array], scale: float) -> None:
        """One step."""
        self.step += 1
        for name, value in parameters.arrays().items():
            gradient = gradients[name]
            m = self.first.setdefault(name, np.zeros_like(value))
            v = self.second.setdefault(name, np.zeros_like(value))
            m *= 0.9
            m += 0.1 * gradient
            v *= 0.999
            np.multiply(gradient, gradient, out=gradient)
            gradient *= 0.001
            v += gradient
            np.sqrt(v, out=gradient)
            gradient += 1e-8 * np.sqrt(1 - 0.999**self.step)
            np.divide(m, gradient, out=gradient)
            np.subtract(
                value, (self.rates[name] * scale * np.sqrt(1 - 0.999**self.step) / (1 - 0.9**self.step)) * gradient, out=value
            )


def start(corpus: Corpus) -> Parameters:
    """Return the teacher's vectors; smooth inverse frequency as the first weights."""
    vectors = np.load(WORK / "start.npy")
    counts = sum(np.asarray((m > 0).sum(0)).ravel() for m in corpus.fields.values()).astype(np.float64)
    share = counts / counts.sum()
    sif = np.log(3e-4 / (3e-4 + share)).astype(np.float32)
    return Parameters(
        vectors,
        sif.copy(),
        sif.copy(),
        sif.copy(),
        np.array([0.5, 2.0, 2.0, 1.0, 1.0], np.float32),
        np.array([np.log(20.0)], np.float32),
    )


def unit(x: Array) -> tuple[Array, Array]:
    """Rows of length 1, and their lengths."""
    lengths = np.sqrt((x * x).sum(1, keepdims=True)) + 1e-6
    return x / lengths, lengths


def through_unit(gradient: Array, units: Array, lengths: Array) -> Array:
    """Gradient before normalisation."""
    return (gradient - units * (gradient * units).sum(1, keepdims=True)) / lengths


def weighted(matrix: csr_matrix, log_weights: Array) -> csr_matrix:
    """Return the matrix with each token's count times its weight."""
    return csr_matrix((matrix.data * np.exp(log_weights)[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)


def query_rows(rows: list[NDArray[np.int32]], width: int) -> csr_matrix:
    """Questions as a sparse matrix of damped counts."""
    indices, data, ends = [], [], [0]
    for row in rows:
        ids, counts = np.unique(row, return_counts=True)
        indices.append(ids)
        data.append(1 + np.log(counts))
        ends.append(ends[-1] + len(ids))
    return csr_matrix(
        (np.concatenate(data).astype(np.float32), np.concatenate(indices), np.array(ends)), shape=(len(rows), width)
    )


class Batches:
    """Batches made of blocks of one package, with questions varied as people would put them."""

    def __init__(self, corpus: Corpus, chosen: NDArray[np.int64], recipe: Recipe, phrases: list[list[int]]) -> None:
        self.corpus, self.chosen, self.recipe, self.phrases = corpus, chosen, recipe, phrases
        self.rng = np.random.default_rng(recipe.seed)

    def order(self) -> NDArray[np.int64]:
        """All pairs once: shuffled within packages, cut to blocks, blocks shuffled."""
        mixed = self.rng.permutation(self.chosen)
        mixed = mixed[np.argsort(self.corpus.package[mixed], kind="stable")]
        package = self.corpus.package[mixed]
        starts = np.flatnonzero(np.r_[True, package[1:] != package[:-1]])
        blocks = [
            mixed[a:b][i : i + self.recipe.block]
            for a, b in zip(starts, np.r_[starts[1:], len(mixed)], strict=True)
            for i in range(0, b - a, self.recipe.block)
        ]
        return np.concatenate([blocks[i] for i in self.rng.permutation(len(blocks))])

    def question(self, i: int) -> NDArray[np.int32]:
        """One question: sometimes cut short, with the symbol's words in it, or put as a question."""
        query = self.corpus.queries[i]
        draw = self.rng.random(3)
        if len(query) > 10 and draw[0] < 0.5:
            query = query[: int(self.rng.integers(6, 16))]
        if draw[1] < 0.25:
            symbol = self.corpus.fields["symbol"]
            query = np.r_[query, symbol.indices[symbol.indptr[i] : symbol.indptr[i + 1]]]
        if draw[2] < 0.2:
            query = np.r_[self.phrases[int(self.rng.integers(len(self.phrases)))], query]
        return query.astype(np.int32)

    def __iter__(self):  # type: ignore[no-untyped-def]
        order = self.order()
        for at in range(0, len(order) - self.recipe.batch // 2, self.recipe.batch):
            rows = order[at : at + self.recipe.batch]
            kept = np.ones((len(FIELDS), len(rows)), np.float32)
            kept[:2] = self.rng.random(len(rows)) < self.recipe.path_kept
            kept[2:4] = self.rng.random(len(rows)) < self.recipe.head_kept
            yield rows, [self.question(int(i)) for i in rows], kept


def loss_and_gradients(
    p: Parameters, corpus: Corpus, rows: NDArray[np.int64], questions: list[NDArray[np.int32]], kept: Array
) -> tuple[float, dict[str, Array]]:
    """Symmetric InfoNCE of one batch."""
    width = len(p.vectors)
    plain_query = query_rows(questions, width)
    query_matrix = weighted(plain_query, p.query)
    q, q_length = unit(query_matrix @ p.vectors)
    plain = [corpus.fields[f][rows] for f in FIELDS]
    by_field = [weighted(m, p.head if f in HEAD else p.body) @ p.vectors for f, m in zip(FIELDS, plain, strict=True)]
    total = sum(p.fields[i] * kept[i][:, None] * v for i, v in enumerate(by_field))
    d, d_length = unit(total)
    similarity = q @ d.T
    tau = np.exp(p.temperature[0])
    logits = similarity * tau
    same = corpus.same[rows]
    equal = same[:, None] == same[None, :]
    np.fill_diagonal(equal, False)
    logits[equal] = -1e4
    a = np.exp(logits - logits.max(1, keepdims=True))
    a /= a.sum(1, keepdims=True)
    b = np.exp(logits - logits.max(0, keepdims=True))
    b /= b.sum(0, keepdims=True)
    n = len(rows)
    loss = -0.5 * float((np.log(np.diag(a) + 1e-12) + np.log(np.diag(b) + 1e-12)).mean())
    g = (a + b) / (2 * n)
    g[np.arange(n), np.arange(n)] -= 1 / n
    gradients: dict[str, Array] = {"temperature": np.array([(g * similarity).sum() * tau], np.float32)}
    g *= tau
    gq = through_unit((g @ d).astype(np.float32), q, q_length)
    gd = through_unit((g.T @ q).astype(np.float32), d, d_length)
    gradients["fields"] = np.array([(kept[i][:, None] * v * gd).sum() for i, v in enumerate(by_field)], np.float32)
    head_matrix = sum(diags(p.fields[i] * kept[i]) @ m for i, m in enumerate(plain[:4]))
    body_matrix = diags(p.fields[4] * kept[4]) @ plain[4]
    vectors = np.zeros_like(p.vectors)
    for name, matrix, back in (("query", plain_query, gq), ("head", head_matrix, gd), ("body", body_matrix, gd)):
        spread = np.asarray(matrix.T.tocsr() @ back, np.float32)
        weight = np.exp(getattr(p, name))
        gradients[name] = np.einsum("ij,ij->i", spread, p.vectors) * weight
        spread *= weight[:, None]
        vectors += spread
    gradients["vectors"] = vectors
    return loss, gradients


def held_out(corpus: Corpus, recipe: Recipe) -> NDArray[np.bool_]:
    """Return packages that training never sees: the same ones whatever the seed of the training."""
    rng = np.random.default_rng(101)
    out = rng.random(len(corpus.names)) < recipe.held_out
    return out[corpus.package]


def train(corpus: Corpus, recipe: Recipe, phrases: list[list[int]], every: int = 25) -> Parameters:
    """Run the recipe."""
    p = start(corpus)
    batches = Batches(corpus, np.flatnonzero(~held_out(corpus, recipe)), recipe, phrases)
    adam = Adam(
        {
            "vectors": recipe.rate,
            "query": recipe.weight_rate,
            "head": recipe.weight_rate,
            "body": recipe.weight_rate,
            "fields": 1e-2,
            "temperature": 5e-3,
        }
    )
    steps = recipe.epochs * (len(batches.chosen) // recipe.batch)
    done, began, recent = 0, time.monotonic(), []
    for _ in range(recipe.epochs):
        for rows, questions, kept in batches:
            loss, gradients = loss_and_gradients(p, corpus, rows, questions, kept)
            adam.update(p, gradients, max(0.02, 1 - done / steps) * min(1.0, (done + 1) / 20))
            recent.append(loss)
            done += 1
            if done % every == 0:
                print(
                    f"{done}/{steps} loss {np.mean(recent[-every:]):.3f} tau {np.exp(p.temperature[0]):.1f} fields {np.round(p.fields, 2)} {time.monotonic() - began:.0f}s",
                    flush=True,
                )
    return p
