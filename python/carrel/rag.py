"""Retrieval for any agent (spec E): find documents, put them into a prompt that fits the model's window, ask the model.

    from carrel import Index
    from carrel.rag import PlainIndex, RAGAgent, chat_model

    with Index("path/to/project") as index:
        agent = RAGAgent(chat_model(), PlainIndex(index), None)  # or any object with `ask`
        print(agent.run("how are retries done?"))

Stores, embedders and models are plain objects with one method each (`carrel.extensions.rag.config`). `Plain...` makes one of a
port of Carrel's; a model and a tokenizer become ports by `ChatModelPort` and `TokenizerPort`. docs/rag.md has examples.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

from carrel import library
from carrel.composition.composition import Composition
from carrel.extensions.rag import calls
from carrel.extensions.rag.config import (
    SYSTEM_PROMPT,
    USER_PROMPT,
    AskModel,
    ChatHistory,
    RAGAgentConfig,
    RetrieveResult,
    SimilarityStore,
    TextEmbedder,
    TextStore,
    check_text,
    check_whole,
)
from carrel.extensions.rag.context import BuildContext, MakeSource
from carrel.extensions.rag.documents import Document, FoundDocument, source_of_document
from carrel.extensions.rag.pipeline import Pipeline, Question
from carrel.extensions.rag.plain import ChatModelPort, PlainChatModel, PlainEmbedder, PlainLocalIndex
from carrel.extensions.rag.tokens import TokenizerPort
from carrel.model.errors import InvalidInput, WindowTooSmall
from carrel.model.ports import Tokenizer
from carrel.model.types import Query
from carrel.search.files import group
from carrel.settings.settings import Settings, resolve
from carrel.settings.settings_files import read_user

__all__ = [
    "AskModel",
    "ChatHistory",
    "ChatModelPort",
    "Document",
    "PlainChatModel",
    "PlainEmbedder",
    "PlainIndex",
    "RAGAgent",
    "RAGAgentConfig",
    "RetrieveResult",
    "SimilarityStore",
    "TextEmbedder",
    "TextStore",
    "TokenizerPort",
    "WindowTooSmall",
    "chat_model",
    "pick_files_by_grouped_chunk_hits",
    "source_of_document",
]

TEMPERATURE = 0.3
_FILE_NAMES = ("filename", "path", "file_path", "file_name", "source")
"""Keys that name a file, as stores have them."""
_SET_BY_AGENT = ("system_prompt", "user_prompt", "chat_history")


class RAGAgent:
    """Answer questions from the documents of a store.

    `embedder` makes the vectors that `vectorstore` is asked by. With None the store is asked by the question's text, by its
    `text_search`. `make_source` names where a document is from, given what the store gave; `build_context` makes the whole
    context of them, in place of header, text and separator, and is trimmed at its end.

    Calls block, also where model, store or embedder are awaited; from a coroutine use `asyncio.to_thread`. Safe to share between
    threads if these are. Raises `InvalidInput` for arguments that can't be used, `WindowTooSmall` where prompts and history leave
    no room for an answer, `StoreError` where the store fails and `ProviderError` where embedder, model or tokenizer do.
    """

    def __init__(
        self,
        llm: AskModel,
        vectorstore: SimilarityStore | TextStore,
        embedder: TextEmbedder | None,
        *,
        config: RAGAgentConfig | None = None,
        logger: logging.Logger | None = None,
        make_source: MakeSource | None = None,
        build_context: BuildContext | None = None,
    ) -> None:
        calls.check_store(vectorstore, embedder, "vectorstore")
        self._pipeline = Pipeline(
            llm,
            vectorstore,
            embedder,
            config or RAGAgentConfig(),
            logger or logging.getLogger(__name__),
            make_source or source_of_document,
            build_context,
            self._default_tokenizer,
        )

    @property
    def config(self) -> RAGAgentConfig:
        """What the agent was told."""
        return self._pipeline.config

    def retrieve(
        self,
        user_query: str,
        base_system_prompt: str = SYSTEM_PROMPT,
        base_user_prompt: str = USER_PROMPT,
        chat_history: ChatHistory | None = None,
        top_k: int | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        similarity_threshold: float | None = None,
    ) -> RetrieveResult:
        """Find documents for a question, and trim them to what prompts, history and answer leave of the model's window.

        `base_user_prompt` is a template with the fields `{context}` and `{query}`. What isn't given is the configuration's.
        """
        question = Question(user_query, base_system_prompt, base_user_prompt, chat_history)
        return self._pipeline.retrieve(question, top_k, metadata_filter, similarity_threshold, None)

    def combine(self, results: Sequence[RetrieveResult], *, user_query: str | None = None) -> RetrieveResult:
        """Return one result of several, within the window: the best documents of each in turn, equal ones once.

        Prompts and history are those of the first, and the question too unless one is given. Other agents' results will do.
        """
        return self._pipeline.combine(results, user_query)

    @overload
    def generate(
        self,
        result: RetrieveResult,
        *,
        stream: Literal[False] = False,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        **llm_kwargs: Any,
    ) -> str: ...
    @overload
    def generate(
        self,
        result: RetrieveResult,
        *,
        stream: Literal[True],
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        **llm_kwargs: Any,
    ) -> Iterator[str]: ...
    @overload
    def generate(
        self,
        result: RetrieveResult,
        *,
        stream: bool,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        **llm_kwargs: Any,
    ) -> str | Iterator[str]: ...
    def generate(
        self,
        result: RetrieveResult,
        *,
        stream: bool = False,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        **llm_kwargs: Any,
    ) -> str | Iterator[str]:
        """Answer from a result: as a text, or with `stream` as an iterator of its pieces.

        `max_new_tokens` is the result's unless given; the context gives way where more is asked for, and the window's end is the
        limit. Other arguments are passed on to `ask`.
        """
        calls.require(self._pipeline.model, "llm", "ask", "Wrap a ChatModel port in PlainChatModel.")
        if taken := [name for name in _SET_BY_AGENT if name in llm_kwargs]:
            raise InvalidInput(taken[0], "is set by the agent", "Give prompts and history to `retrieve` or `run`.")
        request = self._pipeline.request(result, max_new_tokens)
        request |= {**llm_kwargs, "temperature": TEMPERATURE if temperature is None else temperature, "stream": stream}
        return (calls.ask_in_pieces if stream else calls.ask)(self._pipeline.model, **request)

    @overload
    def run(
        self,
        user_query: str,
        base_system_prompt: str = ...,
        base_user_prompt: str = ...,
        chat_history: ChatHistory | None = ...,
        top_k: int | None = ...,
        metadata_filter: Mapping[str, Any] | None = ...,
        similarity_threshold: float | None = ...,
        *,
        stream: Literal[False] = False,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        **llm_kwargs: Any,
    ) -> str: ...
    @overload
    def run(
        self,
        user_query: str,
        base_system_prompt: str = ...,
        base_user_prompt: str = ...,
        chat_history: ChatHistory | None = ...,
        top_k: int | None = ...,
        metadata_filter: Mapping[str, Any] | None = ...,
        similarity_threshold: float | None = ...,
        *,
        stream: Literal[True],
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        **llm_kwargs: Any,
    ) -> Iterator[str]: ...
    def run(
        self,
        user_query: str,
        base_system_prompt: str = SYSTEM_PROMPT,
        base_user_prompt: str = USER_PROMPT,
        chat_history: ChatHistory | None = None,
        top_k: int | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        similarity_threshold: float | None = None,
        *,
        stream: bool = False,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        **llm_kwargs: Any,
    ) -> str | Iterator[str]:
        """Do `retrieve`, then `generate`. With `stream` the documents are found before this returns."""
        question = Question(user_query, base_system_prompt, base_user_prompt, chat_history)
        result = self._pipeline.retrieve(question, top_k, metadata_filter, similarity_threshold, max_new_tokens)
        return self.generate(result, stream=stream, temperature=temperature, max_new_tokens=max_new_tokens, **llm_kwargs)

    def _default_tokenizer(self) -> Tokenizer:
        """Return what counts for models without a tokenizer: cl100k_base, or the estimate that is asked for."""
        ratio = self.config.approx_chars_per_token if self.config.estimate_tokens else None
        return Composition().tokenizer(Settings(), None, chars_per_token=ratio)


def chat_model(name: str | None = None) -> PlainChatModel:
    """Return the chat model that the user's settings name, or its provider's model of this name, for an agent to ask.

    Raises `SettingsError`, and `ProviderError` where none is set.
    """
    settings, _ = resolve(read_user())
    return PlainChatModel(Composition().chat_model(settings, name))


class PlainIndex(PlainLocalIndex):
    """A `carrel.Index` as an agent's store.

    An agent without an embedder asks it by the question's text, as `Index.search` does: by words, names and meaning, with
    relevance from 0 to 1. With an embedder it is asked by vectors alone, which must be of its own model:
    `PlainEmbedder(index.embedder)`. A `metadata_filter` compares what `carrel.model.types.Filters.metadata` does.
    """

    def __init__(self, index: library.Index) -> None:
        super().__init__(index.snapshot, index.embedder)


def pick_files_by_grouped_chunk_hits(
    embedder: Any,
    vector_db: Any,
    section_query: str | Query,
    candidate_pool_size: int = 200,
    n_files: int = 5,
    file_key: str | Callable[[Any], str] = "filename",
) -> list[str]:
    """Return the paths of the `n_files` best files by the summed scores of their chunks, best first.

    `vector_db` is a `carrel.Index`, for which `carrel.pick_files_by_grouped_chunk_hits` answers, or any store of an agent with
    the embedder of its vectors, None where it is asked by text. There `file_key` is a key of the documents' metadata, "filename"
    any of the usual ones for a file, or a function of the document. Documents without the key don't count. Scores must be
    higher-is-better: a sum of distances says nothing. Raises `InvalidInput` where no document has the key, or the store gives no
    scores.
    """
    if isinstance(vector_db, library.Index):
        return library.pick_files_by_grouped_chunk_hits(
            embedder, vector_db, section_query, candidate_pool_size, n_files, file_key
        )
    most = check_whole("candidate_pool_size", candidate_pool_size, 0)
    best = check_whole("n_files", n_files, 0)
    query = check_text("section_query", section_query.text if isinstance(section_query, Query) else section_query)
    calls.check_store(vector_db, embedder, "vector_db")
    documents = calls.find(vector_db, embedder, query, most)
    named = [(name, document.distance) for document in documents if (name := _file_of(document, file_key))]
    if documents and not named:
        raise InvalidInput("file_key", f"no document that was found has {file_key!r}", "Name a key of their metadata.")
    scored = [(name, score) for name, score in named if score is not None]
    if len(scored) < len(named):
        raise InvalidInput("vector_db", "gives documents without scores, which can't be summed", "Return pairs with a score.")
    return [name for name, _ in group(scored)[:best]]


def _file_of(document: FoundDocument, file_key: str | Callable[[Any], str]) -> str:
    if callable(file_key):
        return file_key(document.raw)
    keys = _FILE_NAMES if file_key == "filename" else (file_key,)
    return next((str(document.metadata[key]) for key in keys if document.metadata.get(key)), "")
