"""Join what a question finds with what it finds together with the conversation before it.

Which of the things that an answer names a follow-up is about can't be told for sure, nor whether it is a follow-up at all. So it
is also searched for with the names of the answer, and with the question before it. Files are joined, not chunks: the searches
often find different places of the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from carrel.core.native import Candidate

Scored = tuple[Sequence[Candidate], Sequence[float]]
"""Candidates with their scores, best first."""
SHARE = 0.2
SHARE_OF_FOLLOW_UP = 0.4
"""Weigh each search with the conversation against the question's own, which counts 1: for a question that seems to stand alone,
and for one that leans on what was said. Fitted on the repositories of tests/bench/turns.json and dialogues.json that say so."""


def join(
    own: Scored, others: Sequence[Scored], share: float, judged: Callable[[Sequence[int]], Sequence[Candidate]]
) -> tuple[list[Candidate], list[float]]:
    """Return the candidates of all searches with their scores, best first.

    `own` is what the question itself found; each of the `others` counts for `share`. A file's score is the sum of its best
    scores, each as a part of the best score of that search; its chunks follow by the same sum of theirs. `judged` gives, as
    candidates for the question itself, what only `others` found.
    """
    known = {candidate.doc: candidate for candidate in own[0]}
    searches = [(1.0, list(known), own[1])]
    searches += [(share, [candidate.doc for candidate in found], scores) for found, scores in others]
    missing = dict.fromkeys(doc for _, docs, _ in searches for doc in docs if doc not in known)
    known |= {candidate.doc: candidate for candidate in judged(list(missing))}
    path_of = {doc: candidate.path for doc, candidate in known.items()}
    of_chunk = dict.fromkeys(known, 0.0)
    of_file = dict.fromkeys(path_of.values(), 0.0)
    for weight, docs, values in searches:
        top, best = max(values, default=0.0), dict[str, float]()
        for doc, value in zip(docs, values, strict=True):
            if value > 0:
                part, path = weight * value / top, path_of[doc]
                best[path] = max(best.get(path, 0.0), part)
                of_chunk[doc] += part
        for path, part in best.items():
            of_file[path] += part
    best_of = dict.fromkeys(of_file, 0.0)
    for doc, total in of_chunk.items():
        best_of[path_of[doc]] = max(best_of[path_of[doc]], total)
    scale = max(own[1], default=0.0) / (1.0 + share * len(others))
    joint = {doc: scale * of_file[path_of[doc]] * total / (best_of[path_of[doc]] or 1.0) for doc, total in of_chunk.items()}
    order = sorted(joint, key=lambda doc: -joint[doc])
    return [known[doc] for doc in order], [joint[doc] for doc in order]
