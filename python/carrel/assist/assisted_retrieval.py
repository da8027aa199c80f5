"""One question -> what is found for it, with the models that may help: a planner beside the search, a reranker after it.

Every front end and the library come through `retrieve_assisted`. Without such models it is a search and nothing else, in one
piece of work for a thread; with them no thread is held while a model is waited for. Whatever a model fails in costs its help
only: the user's words are searched for, the order stays, and the diagnostics say why.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from carrel.assist.planner import PLANNER_SECONDS, Plan, Planning
from carrel.assist.rerank import reordered, rerank, text_for_reranker
from carrel.model.conversation import Message
from carrel.model.errors import ProviderError
from carrel.model.local_index import SnapshotView, is_of_core
from carrel.model.native import CancelToken
from carrel.model.ports import ChatModel, Embedder, Reranker
from carrel.model.types import Query
from carrel.model.wording import counted
from carrel.model_calls.embedding import QUERY_SECONDS
from carrel.question.follow_up import symbol_meant
from carrel.question.front import symbol_in_front
from carrel.question.planner_rules import When, steps_after_search, steps_at_once
from carrel.question.prepare import PreparedQuery, prepare
from carrel.question.question_secrets import Mask, masked, masked_history
from carrel.search.candidates import CANDIDATES_A_HIT
from carrel.search.certainty import is_sure
from carrel.search.external_vectors import STORE_SECONDS, OutsideVectors, compare_outside
from carrel.search.merge import find_each, merged, summed
from carrel.search.project_map import project_map
from carrel.search.retriever import Ranking, read
from carrel.system.background import directly, run_at_once, run_blocking, run_to_end

log = logging.getLogger(__name__)
T = TypeVar("T")

RERANKER_SECONDS = 5.0
SHARE = 0.5
"""Of the time that is left before a deadline, for each model that is waited for: what comes after it must still be done."""
LEAST_SECONDS = 0.2
"""A chat model that has less time before the deadline isn't asked: it would only delay the answer."""
Snapshot = Callable[[], SnapshotView]
"""Gives the index of that moment: it is taken when a search begins, after whatever was waited for."""
Finish = Callable[[Ranking, CancelToken], T]


_NO_TIME = "The planner {model} was not asked: too little time is left before the deadline."


class Run(Protocol):
    """Has native work done on a thread, with a token that a cancel sets off."""

    def __call__(self, work: Callable[[CancelToken], T], /) -> Awaitable[T]:
        """Return what the work returns."""
        ...


class Assistants(Struct, frozen=True):
    """The models that may help with a question, and how long each is waited for.

    `when` says which questions the planner is asked about. `candidates` are judged by the reranker: as many as it is good for
    where None. `problem` says why one that was asked for isn't there.
    """

    planner: ChatModel | None = None
    reranker: Reranker | None = None
    when: When = "auto"
    planner_seconds: float = PLANNER_SECONDS
    reranker_seconds: float = RERANKER_SECONDS
    candidates: int | None = None
    problem: str | None = None
    mask: Mask = masked
    """Masks the secrets of what a remote model is told."""

    @property
    def any(self) -> bool:
        """Tell whether there is one."""
        return self.planner is not None or self.reranker is not None


ALONE = Assistants()


class Question(Struct, frozen=True):
    """A query with the conversation before it, oldest turn first."""

    query: Query
    history: Sequence[Message] = ()


async def retrieve_assisted(
    question: Question,
    snapshot: Snapshot,
    embedder: Embedder,
    assistants: Assistants,
    run: Run,
    finish: Finish[T],
    *,
    scope: Callable[[Query], Query] = lambda query: query,
    end: float | None = None,
    outside: OutsideVectors | None = None,
) -> T:
    """Find the candidates of a question and return what `finish` makes of them, on a thread.

    `scope` completes a query on the thread, before it is searched for. `outside` are vectors of the index that are kept
    elsewhere. `end` is the time of the event loop by which all must be done. Without these, without assistants, and with a
    model of the core, nothing is waited for. Raises what `scope` and `finish` raise, and `Cancelled`.
    """
    work = _Retrieval(question, snapshot, embedder, assistants, run, scope, end, outside)
    began = time.perf_counter()

    def finished(ranking: Ranking, token: CancelToken) -> T:
        answer = finish(_with_problem(ranking, assistants.problem), token)
        stages = ", ".join(f"{name} {spent:.1f}" for name, spent in ranking.stages.items())
        log.info("A retrieval: %s in %.1f ms (%s)", counted(len(ranking.order.places), "candidate"), _since(began), stages)
        return answer

    try:
        if not assistants.any:
            [prepared] = await work.prepared(question.query)
            return await run(lambda token: finished(work.find([prepared], token), token))
        ranking = await work.assisted()
        return await run(lambda token: finished(ranking, token))
    except BaseException as error:
        log.info("A retrieval failed after %.1f ms: %s", _since(began), type(error).__name__)  # its words may quote the question
        raise


def retrieve_assisted_blocking(
    question: Question,
    snapshot: Snapshot,
    embedder: Embedder,
    assistants: Assistants,
    finish: Finish[T],
    token: CancelToken,
    *,
    scope: Callable[[Query], Query] = lambda query: query,
    outside: OutsideVectors | None = None,
) -> T:
    """Do `retrieve_assisted` from a thread, whether or not it has an event loop: on that thread where nothing is waited for."""
    at_once = is_of_core(embedder) and not assistants.any and outside is None

    def run(work: Callable[[CancelToken], T]) -> Awaitable[T]:
        return directly(lambda: work(token)) if at_once else run_to_end(None, lambda: work(token), token)

    whole = retrieve_assisted(question, snapshot, embedder, assistants, cast("Run", run), finish, scope=scope, outside=outside)
    return run_at_once(whole) if at_once else run_blocking(whole, token)


class _Retrieval(Struct, frozen=True):
    """The steps for one question."""

    question: Question
    snapshot: Snapshot
    embedder: Embedder
    assistants: Assistants
    run: Run
    scope: Callable[[Query], Query]
    end: float | None
    outside: OutsideVectors | None

    def find(self, texts: Sequence[PreparedQuery], token: CancelToken) -> Ranking:
        """Search for texts. Runs on a thread."""
        return self._find(self.snapshot(), texts, token)

    def _find(self, view: SnapshotView, texts: Sequence[PreparedQuery], token: CancelToken) -> Ranking:
        return find_each(view, [replace(text, query=self.scope(text.query)) for text in texts], token)

    def _joined(self, said: Sequence[PreparedQuery], question: Sequence[PreparedQuery], token: CancelToken) -> Ranking | None:
        """Search for what a planner said and for the user's words, as the index is now; None where the former finds nothing."""
        view = self.snapshot()
        planned = self._find(view, said, token)
        return merged([planned, self._find(view, question, token)]) if planned.order.places else None

    async def prepared(self, query: Query) -> list[PreparedQuery]:
        """Have the question's own text embedded, with the name of what it speaks of."""
        seconds, history = self._left(QUERY_SECONDS), self.question.history
        symbol = await self._symbol(query)
        return [await self._compared(await prepare(query, self.embedder, seconds=seconds, history=history, symbol=symbol))]

    async def _symbol(self, query: Query) -> str | None:
        """Return the name of what is selected in front, where the question is about that and the file may be read."""
        meant = symbol_meant(query)
        if meant is None:
            return None
        return await self.run(lambda _: symbol_in_front(self.snapshot(), self.scope(query), type_meant=meant == "type"))

    async def _prepared_plan(self, queries: Sequence[Query], meant: Sequence[str | None]) -> list[PreparedQuery]:
        """Have the texts of a plan embedded, all at once."""
        seconds = self._left(QUERY_SECONDS)
        if len(queries) == 1:  # without an event loop nothing can be gathered
            return [await self._compared(await prepare(queries[0], self.embedder, seconds=seconds, meant=meant[0]))]
        preparations = (
            prepare(query, self.embedder, seconds=seconds, meant=text) for query, text in zip(queries, meant, strict=True)
        )
        return await asyncio.gather(*map(self._compared, await asyncio.gather(*preparations)))

    async def _compared(self, prepared: PreparedQuery) -> PreparedQuery:
        """Have the vectors that are kept elsewhere compared, if there are any."""
        if self.outside is None or not prepared.query.text.strip():
            return prepared
        view = self.snapshot()
        return await compare_outside(prepared, view, self.outside, self.run, seconds=self._left(STORE_SECONDS))

    async def assisted(self) -> Ranking:
        """Do all that models may help with."""
        query, reranker = self.question.query, self.assistants.reranker
        if reranker is not None:  # it must have something to choose from
            query = query.about(query.text, max(query.limit, self._judged(reranker) // CANDIDATES_A_HIT))
        planner = self.assistants.planner
        ranking = await (self._planned(query, planner) if planner is not None else self._searched(query))
        if reranker is not None and ranking.order.places:
            ranking = await self._reranked(ranking, reranker)
        return ranking

    async def _searched(self, query: Query) -> Ranking:
        prepared = await self.prepared(query)
        return await self.run(lambda token: self.find(prepared, token))

    async def _planned(self, query: Query, planner: ChatModel) -> Ranking:
        """Search for the user's words; where that is worth it, for what the planner says, too."""
        text, history, when = query.text, self.question.history, self.assistants.when
        if self._left(LEAST_SECONDS) < LEAST_SECONDS:
            # Nobody set the one that is at hand for this.
            problem = None if when == "unsure" else _NO_TIME.format(model=planner.spec.id)
            return _with_problem(await self._searched(query), problem)
        shown, shown_history = text, history
        if planner.spec.leaves_machine:
            shown, shown_history = self.assistants.mask(text), masked_history(history, self.assistants.mask)
        planning = Planning(planner, shown, shown_history, self._left(self.assistants.planner_seconds))
        try:
            if steps := steps_at_once(text, history, when):
                planning.start(steps, await self._map(planner))
            question = await self.prepared(query)
            ranking = await self.run(lambda token: self.find(question, token))
            if not steps or when == "always":
                steps = steps_after_search(text, ranking.alone, sure=is_sure(ranking.alone), when=when) - steps
                if steps:
                    planning.start(steps, await self._map(planner))
            if not planning.began:
                return ranking
            began = time.perf_counter()
            plan = await planning.plan()
            waited = {"plan": _since(began)}
        finally:
            planning.stop()
        stages = summed([ranking.stages, waited])
        problem = f"{' '.join(plan.problems)} The user's words were searched for." if plan.problems else None
        if searches := plan.searches(text):
            queries = [query.about(search.text, query.limit) for search in searches]
            prepared = await self._prepared_plan(queries, [search.meant for search in searches])
            if joined := await self.run(lambda token: self._joined(prepared, question, token)):
                stages = summed([stages, joined.stages])
                ranking, problem = _with_plan(joined, plan, query), " ".join(plan.problems) or None
        return _with_problem(replace(ranking, stages=stages), problem)

    async def _map(self, planner: ChatModel) -> str:
        """Return the map of what the question may be answered with."""
        filters = self.question.query.filters
        project = await self.run(lambda _: project_map(self.snapshot(), filters))
        return self.assistants.mask(project) if planner.spec.leaves_machine else project

    async def _reranked(self, ranking: Ranking, reranker: Reranker) -> Ranking:
        """Have the best candidates judged; the order stays where that fails."""
        began = time.perf_counter()
        many = replace(ranking.query, limit=self._judged(reranker), filters=replace(ranking.query.filters, min_score=None))
        shown = await self.run(lambda token: read(ranking, many, token))
        text = ranking.diagnostics.rewritten or self.question.query.text
        text = self.assistants.mask(text) if reranker.spec.leaves_machine else text
        texts = [text_for_reranker(hit) for hit in shown.hits]
        try:
            scores = await rerank(text, texts, reranker, seconds=self._left(self.assistants.reranker_seconds))
        except ProviderError as error:
            log.info("The hits were not reranked: %s", type(error).__name__)
            return _with_problem(ranking, f"{error} The hits stand in the order of the search.")
        judged = dict(zip(shown.hit_docs, scores, strict=True))
        return replace(
            ranking,
            order=reordered(ranking.order, judged, reranker.spec, confidence=ranking.confidence, pinned=ranking.query.pinned),
            stages=summed([ranking.stages, {"rerank": _since(began)}]),
            diagnostics=replace(ranking.diagnostics, reranker=reranker.spec.id),
        )

    def _judged(self, reranker: Reranker) -> int:
        return max(self.assistants.candidates or reranker.spec.candidates, self.question.query.limit)

    def _left(self, most: float) -> float:
        """Return how long a model may be waited for."""
        if self.end is None:
            return most
        return min(most, max(SHARE * (self.end - asyncio.get_running_loop().time()), 0.0))


def _with_plan(ranking: Ranking, plan: Plan, query: Query) -> Ranking:
    """Return what was found for a plan and the user's words as an answer to the query that it was made for."""
    diagnostics = replace(
        ranking.diagnostics,
        rewritten=None if plan.sub_queries else plan.rewritten,
        sub_queries=plan.sub_queries,
        imagined=plan.hypothetical is not None and not plan.sub_queries,
    )
    return replace(ranking, query=replace(ranking.query, text=query.text), diagnostics=diagnostics)


def _with_problem(ranking: Ranking, problem: str | None) -> Ranking:
    """Add to what a person is told of the answer."""
    if not problem:
        return ranking
    sentences = " ".join(filter(None, (ranking.diagnostics.problem, problem)))
    return replace(ranking, diagnostics=replace(ranking.diagnostics, problem=sentences))


def _since(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 3)
