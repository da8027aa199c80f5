"""Pairs to arrays: token ids with counts per field, ready for training."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from training.pairs import PAIRS
from training.places import WORK
from training.tokeniser import Tokeniser
from training.vocab import VOCABULARY

FIELDS = ("dirs", "stem", "symbol", "signature", "body")
HEAD = FIELDS[:4]


def split_path(path: str) -> tuple[str, str]:
    """Folders and the file's name without its last extension."""
    folders, _, name = path.rpartition("/")
    return folders, name.rpartition(".")[0] or name


def fields_of(path: str, symbol: str, container: str, signature: str, body: str) -> dict[str, str]:
    """Return the five texts of a chunk that are weighed apart."""
    folders, stem = split_path(path)
    return {"dirs": folders, "stem": stem, "symbol": f"{container} {symbol}", "signature": signature, "body": body}


class Rows:
    """Rows of damped token counts, made into a sparse matrix at the end."""

    def __init__(self) -> None:
        self.indices: list[int] = []
        self.data: list[float] = []
        self.ends = [0]

    def add(self, ids: list[int]) -> None:
        """Add one text."""
        counts = Counter(ids)
        self.indices.extend(counts)
        self.data.extend(counts.values())
        self.ends.append(len(self.indices))

    def matrix(self, width: int) -> csr_matrix:
        """1 + ln(count) at each token's place."""
        values = (1 + np.log(np.array(self.data, np.float32))).astype(np.float32)
        return csr_matrix(
            (values, np.array(self.indices, np.int32), np.array(self.ends, np.int64)), shape=(len(self.ends) - 1, width)
        )


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything training reads."""

    queries: list[NDArray[np.int32]]
    fields: dict[str, csr_matrix]
    package: NDArray[np.int32]
    kind: NDArray[np.int32]
    same: NDArray[np.int64]
    names: list[str]
    kinds: list[str]


def load(limit: int | None = None) -> Corpus:
    """Tokenise pairs.jsonl."""
    tokeniser = Tokeniser(json.loads(VOCABULARY.read_text())["entries"])
    rows = {field: Rows() for field in FIELDS}
    queries, package, kind, same = [], [], [], []
    names: dict[str, int] = {}
    kinds: dict[str, int] = {}
    with (PAIRS / "pairs.jsonl").open() as lines:
        for number, line in enumerate(lines):
            if limit is not None and number >= limit:
                break
            pair = json.loads(line)
            query = tokeniser.encode(pair["query"])[:96]
            if not query:
                continue
            queries.append(np.array(query, np.int32))
            for field, text in fields_of(
                pair["path"], pair["symbol"], pair["container"], pair["signature"], pair["body"]
            ).items():
                rows[field].add(tokeniser.encode(text))
            package.append(names.setdefault(pair["package"], len(names)))
            kind.append(kinds.setdefault(pair["kind"], len(kinds)))
            same.append(hash(tuple(query)))
    width = len(tokeniser.vocabulary)
    return Corpus(
        queries,
        {f: r.matrix(width) for f, r in rows.items()},
        np.array(package, np.int32),
        np.array(kind, np.int32),
        np.array(same),
        list(names),
        list(kinds),
    )


def main() -> None:
    """Say how much there is."""
    corpus = load()
    tokens = sum(m.nnz for m in corpus.fields.values())
    print(len(corpus.queries), "pairs of", len(corpus.names), "packages,", tokens, "distinct tokens;", WORK)


if __name__ == "__main__":
    main()
