"""From a question to a request that fits the model's window: find, put together, trim."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from carrel.extensions.rag import calls
from carrel.extensions.rag.config import (
    ChatHistory,
    Prompt,
    RAGAgentConfig,
    RetrieveResult,
    check_results,
    check_text,
    check_threshold,
    check_whole,
    history_pairs,
)
from carrel.extensions.rag.context import (
    BuildContext,
    Context,
    MakeSource,
    Share,
    build,
    built,
    divide,
    source_name,
    whole,
    window_of,
)
from carrel.extensions.rag.documents import FoundDocument, read_document
from carrel.extensions.rag.tokens import counter_of, named_options
from carrel.model.errors import CarrelError, ProviderError
from carrel.model.ports import Tokenizer


class Question(Struct, frozen=True):
    """What is asked, as it was given."""

    user_query: str
    system_prompt: str
    user_prompt: str
    chat_history: ChatHistory | None = None

    def prompt(self) -> Prompt:
        """Return it as a prompt. Raises `InvalidInput` for what isn't text."""
        return Prompt(
            check_text("base_system_prompt", self.system_prompt),
            check_text("base_user_prompt", self.user_prompt),
            check_text("user_query", self.user_query),
            history_pairs(self.chat_history),
        )


class Pipeline(Struct, frozen=True):
    """The parts that an agent was given. `otherwise` gives the tokenizer of models that have none of their own."""

    model: Any
    store: Any
    embedder: Any
    config: RAGAgentConfig
    log: logging.Logger
    make_source: MakeSource
    build_context: BuildContext | None
    otherwise: Callable[[], Tokenizer]

    def retrieve(
        self,
        question: Question,
        top_k: int | None,
        metadata_filter: Mapping[str, Any] | None,
        threshold: float | None,
        cap: int | None,
    ) -> RetrieveResult:
        """Find documents and trim them; `cap` are the tokens of the answer, None for the configured share."""
        prompt = question.prompt()
        most = self.config.top_k if top_k is None else check_whole("top_k", top_k, 0)
        check_threshold(threshold)
        least = self.config.similarity_threshold if threshold is None else threshold
        self._divide(prompt, whole(""), cap)  # a window that is too small costs no search
        normalize = self.config.normalize_embeddings
        documents = calls.find(self.store, self.embedder, prompt.query, most, metadata_filter, least, normalize=normalize)
        return self._result(question, prompt, documents, cap)

    def combine(self, results: Sequence[RetrieveResult], user_query: str | None) -> RetrieveResult:
        """Trim the documents of several results together, the best of each in turn, equal ones once."""
        check_results(results)
        first = results[0]
        query = first.user_query if user_query is None else user_query
        question = Question(query, first.base_system_prompt, first.base_user_prompt, first.chat_history)
        documents: dict[tuple[str, str], FoundDocument] = {}
        for document in chain.from_iterable(zip_longest(*map(_documents, results))):
            if document is not None:
                documents.setdefault((document.text, source_name(document.raw, self.make_source)), document)
        return self._result(question, question.prompt(), list(documents.values()), None)

    def request(self, result: RetrieveResult, cap: int | None) -> dict[str, Any]:
        """Return what to ask the model. Counts again: somebody may have changed the result, or made it for another model."""
        check_results([result])
        question = Question(result.user_query, result.base_system_prompt, result.base_user_prompt, result.chat_history)
        prompt = question.prompt()
        share = self._divide(prompt, whole(result.context), result.max_new_tokens if cap is None else cap)
        if cap is None and share.meta["context_trimmed"]:  # what the answer had here leaves too little for the context
            share = self._divide(prompt, whole(result.context), None)
        return {
            "system_prompt": prompt.system,
            "user_prompt": prompt.user(share.context),
            "max_new_tokens": min(share.max_new_tokens, result.max_new_tokens if cap is None else cap),
            **self._history(result.chat_history),
        }

    def _result(self, question: Question, prompt: Prompt, documents: Sequence[FoundDocument], cap: int | None) -> RetrieveResult:
        builder = self.build_context
        context = built(documents, builder) if builder else build(documents, self.config, self.make_source)
        share = self._divide(prompt, context, cap)
        self.log.info(
            "Found %d documents; of %d tokens the prompts take %d and the context %d, the answer may take %d",
            len(documents),
            share.token_budget,
            share.base_tokens,
            share.context_tokens_used,
            share.max_new_tokens,
        )
        if documents and not share.context:
            self.log.warning(
                "None of the %d documents is shown: they are blank, or prompts and answer leave the context %d tokens",
                len(documents),
                share.meta["available_for_context"],
            )
        return RetrieveResult(
            base_system_prompt=prompt.system,
            base_user_prompt=prompt.template,
            docs=[document.raw for document in documents],
            distances=[document.distance for document in documents],
            **asdict(share),
            user_query=prompt.query,
            chat_history=() if question.chat_history is None else question.chat_history,
        )

    def _divide(self, prompt: Prompt, context: Context, cap: int | None) -> Share:
        config = self.config
        limit = config.fixed_max_new_tokens if cap is None else check_whole("max_new_tokens", cap, 1)
        window = window_of(self.model)
        try:
            counter = counter_of(None if config.estimate_tokens else self.model, self.otherwise(), prompt)
            return divide(prompt, context, window, counter, config, limit)
        except CarrelError:
            raise
        except Exception as error:
            raise ProviderError(f"The model's tokenizer failed: {calls.cause_of(error)}") from error

    def _history(self, chat_history: ChatHistory) -> dict[str, ChatHistory]:
        """Return the history as an argument for a model that takes it."""
        if not chat_history:
            return {}
        taken = named_options(self.model.ask, chat_history=chat_history)
        if not taken:
            self.log.debug("The model's `ask` takes no chat_history: it is counted, and the model is taken to keep it itself")
        return taken


def _documents(result: RetrieveResult) -> list[FoundDocument]:
    read = [read_document(raw) for raw in result.docs]
    return [
        FoundDocument(document.raw, document.text, document.metadata, distance)
        for document, distance in zip(read, result.distances, strict=True)
    ]
