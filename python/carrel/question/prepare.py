"""What has to be awaited before a question can be answered on a thread: its embedding.

`prepare` runs on the event loop; with the core's own models it never waits. What it gives is handed to `retriever.retrieve`,
which asks nobody else. Where a model fails or is late, the question is answered by words alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model import native
from carrel.model.conversation import Message
from carrel.model.errors import CarrelError, place_of
from carrel.model.local_index import is_of_core
from carrel.model.patterns import lazy_pattern
from carrel.model.ports import ChunkId, Embedder, EmbeddingSpec
from carrel.model.structs import whole_characters
from carrel.model.types import LONGEST_QUERY, Query, both_ends
from carrel.model_calls.embedding import QUERY_SECONDS, embed_queries, run_with
from carrel.question import follow_up, issue_text, query_words
from carrel.question.follow_up import FollowUp
from carrel.question.issue_text import IssueText
from carrel.question.query_words import ParsedQuery
from carrel.question.question_secrets import masked, masked_history

log = logging.getLogger(__name__)

# Of a terminal (ECMA-48, control sequences): the `m` behind a colour would be the first letter of a word.
_COLOURS = lazy_pattern(r"\x1b\[[0-9;:?]{0,40}[@-~]")


class SearchText(Struct, frozen=True):
    """A text that is searched for, with its vector: empty where no model gave one.

    `dense` are the cosines of chunks that a store of vectors elsewhere found; None where the local index is searched with the
    vector.
    """

    question: ParsedQuery
    vector: bytes = b""
    dense: Sequence[tuple[ChunkId, float]] | None = None

    def parsed(self, *, quotes: bool) -> native.ParsedQuery:
        """Return it as the index takes it; with `quotes` texts are read for what they hold of it word for word."""
        return self.question.parsed(quotes=quotes, vector=self.vector, scores=self.dense)


class PreparedQuery(Struct, frozen=True):
    """A query with all that models say to it.

    `texts` are by name the parts of an issue (`IssueText.parts`); any other query is searched for by one text, named "", and in a
    conversation by further ones that take in what was said (`FollowUp.around`).
    """

    query: Query
    model: EmbeddingSpec
    texts: Mapping[str, SearchText]
    issue: IssueText | None = None  # where the text has the structure of an issue
    messages: Sequence[SearchText] = ()  # of an issue that is output
    problem: str | None = None  # why there are no vectors, for a person
    milliseconds: float = 0.0  # how long reading and embedding took
    follow_up: FollowUp = field(default_factory=FollowUp)  # what it takes from the conversation, and from what is in front
    own: SearchText | None = None  # the user's words, where nothing but their number says that they lean on the conversation

    def by_itself(self, own: SearchText) -> PreparedQuery:
        """Return the query for a text that doesn't lean on the conversation."""
        query, texts = replace(self.query, text=own.question.text), {**self.texts, "": own}
        return replace(self, query=query, texts=texts, follow_up=FollowUp(None, self.follow_up.around))


async def prepare(
    query: Query,
    embedder: Embedder,
    *,
    seconds: float = QUERY_SECONDS,
    meant: str | None = None,
    history: Sequence[Message] = (),
    symbol: str | None = None,
) -> PreparedQuery:
    """Read a query and have its texts embedded, within so many seconds. Raises nothing but a cancel.

    `meant` is a text, such as an answer, whose embedding takes the place of the query's; words are searched for as they stand.
    A query that speaks of the conversation before it, `history`, or of what is in front is searched for with its subject's name:
    `symbol`, where the lines that are selected in front belong to a function or class of that name.
    """
    began = time.perf_counter()
    query = replace(query, text=_as_typed(query.text))
    mask = masked if embedder.spec.leaves_machine else str
    # Masked as a whole: a name that is cut out of it doesn't show that it is a secret.
    history = masked_history([replace(turn, text=_as_typed(turn.text)) for turn in follow_up.turns_read(history)], mask)
    follows = follow_up.read(query, history, symbol)
    own = [query_words.read(query.text)] if follows.is_short_alone else []
    query = replace(query, text=follows.text or query.text)
    issue = issue_text.read(query.text) if query.text.strip() else None
    parts = issue.parts() if issue else {"": query.text, **follows.around}
    questions = {name: query_words.read(both_ends(part, LONGEST_QUERY)) for name, part in parts.items()}
    printed = [query_words.read(message) for message in issue.messages] if issue else []
    further = [] if issue else [*own, *(question for name, question in questions.items() if name)]  # with the conversation
    texts_to_embed = _texts_of([*(questions.values() if issue else [questions[""]]), *printed])
    problem: str | None = None
    vectors: Mapping[str, bytes] = {}
    try:
        if meant is None or issue:
            vectors = await _vectors(embedder, texts_to_embed, _texts_of(further), mask, seconds)
        else:
            shown = mask(meant)
            instead = (await embed_queries(embedder, [shown], seconds=seconds, kind="document"))[shown]
            vectors = dict.fromkeys(texts_to_embed, instead)
    except CarrelError as error:
        problem = f"{str(error).rstrip('.')}. The question was answered by its words alone."
        log.warning("A question was not embedded: %s at %s", type(error).__name__, place_of(error))
    lost = [] if problem else [question for question in further if question.text not in vectors]
    kept = {name: question for name, question in questions.items() if question not in lost}
    texts = {name: SearchText(question, vectors.get(question.text, b"")) for name, question in kept.items()}
    messages = [SearchText(question, vectors.get(question.text, b"")) for question in printed]
    took = round(1000 * (time.perf_counter() - began), 3)
    alone = next((SearchText(text, vectors[text.text]) for text in own if text.text in vectors), None)
    return PreparedQuery(query, embedder.spec, texts, issue, messages, problem, took, follows, alone)


async def _vectors(
    embedder: Embedder, questions: Sequence[str], further: Sequence[str], mask: Callable[[str], str], seconds: float
) -> dict[str, bytes]:
    """Return the vectors of texts, those of `further` unless the model fails in them. Raises `CarrelError` for the others."""

    async def embedded(texts: Sequence[str]) -> dict[str, bytes]:
        sent = {text: mask(text) for text in texts}
        by_text = await embed_queries(embedder, list(dict.fromkeys(sent.values())), seconds=seconds)
        return {text: by_text[shown] for text, shown in sent.items() if shown in by_text}

    if not further or is_of_core(embedder):  # which has no limits, and may be asked without an event loop
        return await embedded([*questions, *further])
    vectors, more = await asyncio.gather(embedded(questions), embedded(further), return_exceptions=True)
    if isinstance(vectors, BaseException):
        raise vectors
    if isinstance(more, CarrelError):
        log.warning("A question was not embedded with its conversation: %s at %s", type(more).__name__, place_of(more))
        return vectors
    if isinstance(more, BaseException):
        raise more
    return vectors | more


def _texts_of(questions: Sequence[ParsedQuery]) -> list[str]:
    return list(dict.fromkeys(question.text for question in questions if question.text))


def _as_typed(text: str) -> str:
    """Return a text without colours and half characters."""
    return _COLOURS.sub("", whole_characters(text))


def prepare_blocking(query: Query, embedder: Embedder, history: Sequence[Message] = ()) -> PreparedQuery:
    """Do `prepare` from a thread, whether or not it has an event loop. A model of the core is asked without one."""
    return run_with(embedder, prepare(query, embedder, history=history))
