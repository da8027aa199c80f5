"""Call what somebody brought: plain functions, coroutine functions and asynchronous generators alike.

Whatever goes wrong in them, and whatever they give that can't be used, is an error that names the part, the cause and the remedy.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from carrel.extensions.rag.config import AskModel, TextEmbedder
from carrel.extensions.rag.documents import FoundDocument, described, finite, read_documents
from carrel.model.errors import CarrelError, InvalidInput, ProviderError, StoreError
from carrel.model.ports import EmbeddingSpec
from carrel.system.background import iterate_blocking, run_blocking

_LONGEST_CAUSE = 300
_END = object()


def check_store(store: object, embedder: object, name: str) -> None:
    """Raise `InvalidInput` where a store, the argument of this name, or an embedder lacks the method that it is asked by."""
    if embedder is None:
        require(store, name, "text_search", "Give an embedder, or wrap a carrel.Index in PlainIndex.")
        return
    require(store, name, "similarity_search", "Wrap a carrel.Index in PlainIndex.")
    require(embedder, "embedder", "embed", "Give None for a store that is asked by text.")
    if isinstance(getattr(embedder, "spec", None), EmbeddingSpec):
        raise InvalidInput("embedder", f"{type(embedder).__name__} is an Embedder port", "Wrap it in PlainEmbedder.")


def require(part: object, name: str, method: str, remedy: str) -> None:
    """Raise `InvalidInput` where a part has no such method."""
    if not callable(getattr(part, method, None)):
        raise InvalidInput(name, f"{type(part).__name__} has no `{method}`", remedy)


def embed(embedder: TextEmbedder, texts: Sequence[str], *, normalize: bool) -> list[list[float]]:
    """Return a vector a text. Raises `ProviderError`."""
    return vectors(_called("The embedder", lambda: embedder.embed(texts, normalize_embeddings=normalize)), len(texts))


def vectors(answer: Any, texts: int) -> list[list[float]]:
    """Read what an embedder gave for so many texts. Raises `ProviderError`."""
    if hasattr(answer, "tolist"):  # arrays of numpy, torch and others
        answer = answer.tolist()
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise _wrong_vectors(described(answer), texts)
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in answer]
    if rows and all(finite(row) is not None for row in rows):
        raise _wrong_vectors("one list of numbers", texts)
    if len(rows) != texts:
        raise _wrong_vectors(f"{len(rows)} vectors", texts)
    return [_vector(row) for row in rows]


def _vector(row: Any) -> list[float]:
    if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable):
        raise ProviderError(f"The embedder gave {described(row)} for a vector", "Return a list of floats for each text.")
    values = [finite(value) for value in row]
    numbers = [value for value in values if value is not None]
    if not numbers or len(numbers) != len(values):
        what = "a value that is not a finite number" if values else "no values"
        raise ProviderError(f"The embedder gave a vector with {what}", "Return a list of floats for each text.")
    return numbers


def _wrong_vectors(what: str, texts: int) -> ProviderError:
    return ProviderError(
        f"The embedder gave {what} for {texts} {'text' if texts == 1 else 'texts'}", "Return a list with a vector for each text."
    )


def find(
    store: Any,
    embedder: TextEmbedder | None,
    query: str,
    top_k: int,
    metadata_filter: Mapping[str, Any] | None = None,
    threshold: float | None = None,
    *,
    normalize: bool = True,
) -> list[FoundDocument]:
    """Return at most `top_k` documents for a question, by its text where there is no embedder.

    Raises `ProviderError` for the embedder, `StoreError` for the store.
    """
    if not query.strip() or not top_k:
        return []
    options = {"top_k": top_k, "metadata_filter": metadata_filter, "similarity_threshold": threshold}
    if embedder is None:
        return _search_results(lambda: store.text_search(query=query, **options), top_k)
    [vector] = embed(embedder, [query], normalize=normalize)
    return _search_results(lambda: store.similarity_search(query_embedding=vector, **options), top_k)


def _search_results(search: Callable[[], Any], top_k: int) -> list[FoundDocument]:
    def read() -> list[FoundDocument]:
        answer = search()
        return read_documents(run_blocking(_awaited(answer)) if inspect.isawaitable(answer) else answer, top_k)

    return _called("The store", read, StoreError)  # type: ignore[no-any-return]


def ask(model: AskModel, **arguments: Any) -> str:
    """Return a model's whole answer. Raises `ProviderError`."""
    return "".join(ask_in_pieces(model, **arguments))


def ask_in_pieces(model: AskModel, **arguments: Any) -> Iterator[str]:
    """Ask a model, and return an iterator of its answer's pieces. Raises `ProviderError`, the iterator too."""
    return pieces(_called("The model", lambda: model.ask(**arguments)))


def pieces(answer: Any) -> Iterator[str]:
    """Return the pieces of an answer, of a whole one just that. Closing it closes the model's. Raises `ProviderError`."""
    if isinstance(answer, str):
        return iter((answer,))
    if isinstance(answer, AsyncIterable):
        return _checked(iterate_blocking(answer))
    if isinstance(answer, Iterable) and not isinstance(answer, bytes | bytearray | Mapping):
        return _checked(answer)
    raise ProviderError(f"The model gave {described(answer)}", "Return a text from `ask`, or an iterator of texts.")


def _checked(answer: Iterable[Any]) -> Iterator[str]:
    iterator = iter(answer)
    try:
        while True:
            piece = _called("The model", lambda: next(iterator, _END))
            if piece is _END:
                return
            yield checked_piece(piece)
    finally:
        close = getattr(iterator, "close", None)
        if callable(close):
            close()


def checked_piece(piece: Any) -> str:
    """Return a piece of an answer. Raises `ProviderError` where it isn't text."""
    if not isinstance(piece, str):
        raise ProviderError(f"The model gave {described(piece)} in its answer", "Yield texts from `ask`.")
    return piece


def _called(what: str, call: Callable[[], Any], error_kind: type[ProviderError | StoreError] = ProviderError) -> Any:
    with failures(what, error_kind):
        answer = call()
        return run_blocking(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except SystemExit as error:  # would end the loop that others share
        raise RuntimeError(f"SystemExit({error.code!r})") from error


@contextmanager
def failures(what: str, error_kind: type[ProviderError | StoreError] = ProviderError) -> Iterator[None]:
    """Raise what fails inside as an error that names the part, unless it is one already."""
    try:
        yield
    except CarrelError:
        raise
    except (Exception, SystemExit) as error:
        raise error_kind(f"{what} failed: {cause_of(error)}", retryable=may_pass(error)) from error


def cause_of(error: BaseException) -> str:
    """Return what went wrong by kind and message, on one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message[:_LONGEST_CAUSE]}" if message else type(error).__name__


def may_pass(error: BaseException) -> bool:
    """Tell whether it may work later, though nobody mends anything."""
    return isinstance(error, TimeoutError | ConnectionError)
