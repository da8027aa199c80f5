"""What embedding services have in common: which texts are sent, how they are counted, and what is believed of an answer.

Empty texts are not sent, since services refuse them: their vectors are zero. Text that is too long is shortened. Rows are checked
and scaled to length one on a thread.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import copy
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.errors import ProviderError, UnusableAnswer
from carrel.model.outbound import Load, Outbound
from carrel.model.ports import EmbeddingSpec, Tokenizer
from carrel.model.remote import PLAIN_WORDS
from carrel.model.structs import whole_characters
from carrel.model.vectors import BYTES_A_VALUE, Vectors, WrongVectors
from carrel.providers.http import Auth, ServiceClient, ServiceModel

Kind = Literal["query", "document"]

MOST_DIM = 16_384
CHARACTERS_A_TOKEN = 3
"""Of a model whose tokens can't be counted here: code has more than three characters a token with every encoding in use."""


class KnownModel(Struct, frozen=True):
    """What is published of a model. `longest` is the most tokens of one text, `prefixes` stand before queries and documents."""

    dim: int
    longest: int = 8_192
    price: float = 0.0  # US dollars for a million tokens
    floor: float = 0.3
    prefixes: tuple[str, str] = ("", "")


UNKNOWN = KnownModel(0, longest=512)
_NO_EMBEDDER = "Set `model` to an embedding model, and see the service's log: a broken model answers so."


class ServiceEmbedder(ServiceModel):
    """An `Embedder` and `RemoteEmbedder` over one client. Each service says how a request looks (`_ask`)."""

    subscription = False
    """Whether a subscription pays for it, and tokens cost nothing."""

    def __init__(
        self,
        outbound: Outbound,
        client: ServiceClient,
        auth: Auth,
        spec: EmbeddingSpec,
        model: KnownModel,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        """Take `tokenizer` where the model's own is known; tokens are estimated without one."""
        self.spec = spec
        self._outbound = outbound
        super().__init__(client)
        self._auth = auth
        self._limits = model
        self._tokenizer = tokenizer
        self._tells_apart = False  # unlike words were seen to have unlike vectors

    async def check(self) -> None:
        """Raise `ProviderError` where a permission or a key is missing. Asks nobody."""
        for destination in self.destinations:
            self._outbound.permissions.check(destination)
        await self._check_key()

    async def learn_dim(self) -> int:
        """Embed two words, and return how many numbers their vectors have. Raises `ProviderError`, also where these are equal."""
        rows: list[Sequence[float]] = []
        for texts in [PLAIN_WORDS] if self.spec.max_texts > 1 else [[word] for word in PLAIN_WORDS]:
            answer = await self._ask(texts, "document", self._load(len(texts), sum(map(len, texts)), len(texts)))
            rows += map(self._row, answer)
        dim = len(rows[0]) if rows else 0
        if len(rows) != len(PLAIN_WORDS) or not 0 < dim <= MOST_DIM:
            raise self._wrong(f"{len(rows)} vectors, the first of {dim} values, for {len(PLAIN_WORDS)} words")
        if list(rows[0]) == list(rows[1]):
            raise self._wrong("the same vector for different texts, by which nothing can be found", _NO_EMBEDDER)
        self._tells_apart = True
        return dim

    def with_dim(self, dim: int) -> Self:
        """Return the same with this dimension."""
        same = copy.copy(self)
        same.spec = replace(self.spec, dim=dim)
        return same

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return one row a text. Raises `ProviderError`, also for an answer that can't be what was asked for."""
        if not texts:
            return Vectors(b"", max(self.spec.dim, 1))
        if not self.spec.dim:
            raise ProviderError(f"The dimension of {self.spec.id} isn't known yet", "Set `dimensions` of the model.")
        places, sent, load = await asyncio.to_thread(self._prepared, texts, kind)
        rows = await self._ask(sent, kind, load) if sent else []
        vectors = await asyncio.to_thread(self._placed, rows, places, len(texts))
        alike = kind == "document" and len(set(sent)) > 1 and len({vectors[number] for number in places}) == 1
        if alike and not self._tells_apart:
            await self.learn_dim()  # texts may be alike to a model; it is broken if unlike words are
        return vectors

    async def _ask(self, texts: Sequence[str], kind: Kind, load: Load) -> Sequence[Any]:
        """Return one row a text, in order: numbers, or packed float32 as base64."""
        raise NotImplementedError

    async def _check_key(self) -> None:
        await self._auth.headers()

    def _prepared(self, texts: Sequence[str], kind: Kind) -> tuple[list[int], list[str], Load]:
        """Return which texts are sent, as what, and how much it is. Runs on a thread."""
        prefix = self._limits.prefixes[kind == "document"]
        places, sent, tokens = list[int](), list[str](), 0
        for number, text in enumerate(texts):
            if text.strip():
                fitting, count = self._fitted(prefix + whole_characters(text))
                places.append(number)
                sent.append(fitting)
                tokens += count
        return places, sent, self._load(len(sent), sum(map(len, sent)), tokens)

    def _load(self, texts: int, characters: int, tokens: int) -> Load:
        return Load(texts, characters, tokens, tokens * self.spec.price / 1e6, priced=self.subscription or self.spec.price > 0)

    def _fitted(self, text: str) -> tuple[str, int]:
        longest = self._limits.longest
        if self._tokenizer is None:
            text = text[: longest * CHARACTERS_A_TOKEN]
            return text, math.ceil(len(text) / CHARACTERS_A_TOKEN)
        tokens = self._tokenizer.count(text)
        return (text, tokens) if tokens <= longest else (self._tokenizer.trim(text, longest), longest)

    def _placed(self, rows: Sequence[Any], places: Sequence[int], many: int) -> Vectors:
        """Return a row a text, of zeros for those that were not sent. Runs on a thread."""
        if len(rows) != len(places):
            raise self._wrong(f"{len(rows)} vectors for {len(places)} texts")
        zeros = bytes(self.spec.dim * BYTES_A_VALUE)
        placed = [zeros] * many
        for number, row in zip(places, rows, strict=True):
            numbers = self._row(row)
            try:
                placed[number] = Vectors.unit([numbers], self.spec.dim).data
            except WrongVectors:
                remedy = f"Set `dimensions` of the model to {len(numbers)}, or remove it."
                raise self._wrong(f"vectors of {len(numbers)} values where {self.spec.dim} were due", remedy) from None
        return Vectors(b"".join(placed), self.spec.dim)

    def _row(self, row: Any) -> Sequence[float]:
        """Return the numbers of a row. Raises `ProviderError` where they are none, not finite, or all the same."""
        try:
            if isinstance(row, str):
                data = base64.b64decode(row, validate=True)
                numbers: Sequence[float] = struct.unpack(f"<{len(data) // BYTES_A_VALUE}f", data)
            else:
                numbers = [float(number) for number in row] if isinstance(row, list) else []
            length = math.hypot(*numbers)
        except (binascii.Error, struct.error, TypeError, ValueError, OverflowError):
            raise self._wrong("something that is no vector") from None
        if not numbers or not math.isfinite(length):
            raise self._wrong("a vector with a value that is not a finite number" if numbers else "something that is no vector")
        if not length or (len(numbers) > 1 and min(numbers) == max(numbers)):
            raise self._wrong(f"a vector whose values are all {numbers[0]:g}, by which nothing can be found", _NO_EMBEDDER)
        return numbers

    def _wrong(self, what: str, remedy: str = "Check `model` and `baseUrl`.") -> UnusableAnswer:
        return UnusableAnswer(f"{self._client.service.title} gave {what}", remedy)


def rows_by_index(answer: Any) -> list[Any] | None:
    """Return the rows of an answer of OpenAI's form in the order of the texts; None where it has another form.

    Some servers leave `index` out: their rows stand in order.
    """
    items = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(items, list) or not all(isinstance(item, Mapping) and "embedding" in item for item in items):
        return None
    numbers = [item.get("index", at) for at, item in enumerate(items)]
    if not all(isinstance(number, int) for number in numbers) or sorted(numbers) != list(range(len(items))):
        return None
    rows: list[Any] = [None] * len(items)
    for number, item in zip(numbers, items, strict=True):
        rows[number] = item["embedding"]
    return rows
