"""Whether a prompt is about code that should be looked up, or only steers the agent in what it has in hand.

Steering ("go on", "no, the other one") is most of what people type, and what is added to it is paid in every later turn. What
the index holds for the prompt's own words decides; only a question takes in what was said before, since a task that leans on
the conversation is about what the agent has before it.
"""

from __future__ import annotations

from pathlib import Path

from carrel.model.patterns import lazy_pattern
from carrel.search.certainty import above, is_enough
from carrel.search.retriever import Retrieval

_COMMAND = lazy_pattern(r"\s*(?:(/[^\W\d][\w:-]*)(?=\s|\Z)|#[^\W\d][\w:-]*(?=\s|\Z)|!)")
"""`/compact`, `/model opus`, `!ls`, `#remember`; but neither `/usr/lib`, nor `#123`, nor the name of a folder such as `/tmp`."""
_QUESTION = lazy_pattern(
    r"(?i)\W*(?:(?:and|but|or|so|then)\b\W*)?(?:who|whose|what|which|where|when|why|how)\b|(?s:.*)[?？]\s*\Z"  # noqa: RUF001
)
_TO_AGENT = lazy_pattern(r"(?i)\byou(?:rs?)?\b")

BEST = 3
"""Places that are looked at."""
MEANT = 0.36
"""The cosine from which a place is about what a prompt says."""
WORDS = 3
"""Or so many of its words that stand in one place."""


def is_command(prompt: str) -> bool:
    """Tell whether a prompt is for the agent's program, not for the model."""
    command = _COMMAND.match(prompt)
    return command is not None and not (command[1] and Path(command[1]).is_dir())


def is_question(prompt: str) -> bool:
    """Tell whether a prompt asks for something of the code: what is asked of "you" is about the agent or its work."""
    return _QUESTION.match(prompt) is not None and _TO_AGENT.search(prompt) is None


def is_wanted(prompt: str, found: Retrieval, floor: float) -> bool:
    """Tell whether what was found for a prompt should go with it. `floor` is that of the model which gave the cosines.

    One plain word in an order ("the other one") meets something in every index, and says nothing.
    """
    if not is_enough(found.confidence):
        return False
    question, best = found.context.question, found.ranked[:BEST]
    if found.diagnostics.is_issue or (question.names and any(one.defines >= 1 for one in best)):
        return True
    if len(question.words) < 2 and not is_question(prompt):
        return False
    return any(above(one.dense, floor) >= MEANT or len(one.matched) >= WORDS for one in best)
