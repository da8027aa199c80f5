"""Rerankers of Cohere and of services that are asked alike: Jina, Voyage, vLLM, llama.cpp, and TEI.

They differ in a few names. Scores that aren't from 0 to 1 are a model's raw ones, which a sigmoid makes of that range.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.errors import ProviderError
from carrel.model.outbound import Load, Outbound
from carrel.model.plain_data import as_dict
from carrel.model.ports import RerankerSpec
from carrel.model.structs import whole_characters
from carrel.providers.http import ServiceClient, ServiceModel, key_for
from carrel.providers.service import Service
from carrel.settings.model_settings import ModelSettings

log = logging.getLogger(__name__)

MOST_TEXTS = 100
LONGEST_TEXT = 12_000
"""Characters of a text that are sent: services read about 4,000 tokens of it."""
LONGEST_QUERY = 2_000


class Api(Struct, frozen=True):
    """How a service is asked, beside `query`."""

    title: str
    base_url: str = ""
    model: str = ""
    texts: str = "documents"
    more: Mapping[str, Any] | None = None
    results: tuple[str, ...] = ("results", "data")
    score: tuple[str, ...] = ("relevance_score", "score")
    price: float = 0.0
    """US dollars for a thousand requests of the default model."""


APIS: Mapping[str, Api] = {
    "cohere": Api("Cohere", "https://api.cohere.com/v2", "rerank-english-v3.0", price=2.0),
    "jina": Api("Jina", "https://api.jina.ai/v1", "jina-reranker-v2-base-multilingual", more={"return_documents": False}),
    "voyage": Api("Voyage", "https://api.voyageai.com/v1", "rerank-2.5", more={"truncation": True}),
    "tei": Api("Text Embeddings Inference", "http://localhost:8080", texts="texts", more={"raw_scores": False, "truncate": True}),
}


def cohere_rerank(provider: str, options: ModelSettings, outbound: Outbound) -> CohereReranker:
    """Make a reranker of one of `APIS`, or of the service at `baseUrl` that is asked alike. Raises `InvalidInput`."""
    api = APIS[provider]
    home = Service(provider, api.title, api.base_url, "reranker")
    service = replace(home, base_url=options.base_url or api.base_url)
    is_home = service.destination == home.destination
    if not is_home:
        service = replace(service, title="The reranker")
    model = options.model or api.model
    spec = RerankerSpec(
        f"{provider}:{model}" if model else provider,
        max_texts=options.max_texts or MOST_TEXTS,
        leaves_machine=service.leaves_machine,
        price=options.price or (api.price if is_home and model == api.model else 0.0),
    )
    auth = key_for(outbound, service, options.key, is_home=is_home and service.leaves_machine)
    return CohereReranker(ServiceClient(service, outbound, auth), model, spec, api)


class CohereReranker(ServiceModel):
    """A model behind `/rerank`."""

    def __init__(self, client: ServiceClient, model: str, spec: RerankerSpec, api: Api) -> None:
        self.spec = spec
        super().__init__(client)
        self._model = model
        self._api = api
        self._warned_of = ""
        self._raw = False
        """Whether the service was seen to give raw scores. They stay so: scores of several requests are compared."""

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score a text; a blank one has 0 and isn't sent, and so has each where the query is blank."""
        numbers = [number for number, text in enumerate(texts) if text.strip()]
        scores = [0.0] * len(texts)
        if numbers and query.strip():
            try:
                answers = await self._ask(query[:LONGEST_QUERY], [texts[number][:LONGEST_TEXT] for number in numbers])
            except ProviderError as error:
                self._warn(str(error))
                raise
            for number, score in zip(numbers, answers, strict=True):
                scores[number] = score
        return scores

    def _warn(self, reason: str) -> None:
        """Log why the order stays as it was, once as long as the reason is the same."""
        if reason != self._warned_of:
            log.warning("Nothing is reranked by %s: %s", self.spec.id, reason)
        self._warned_of = reason

    async def _ask(self, query: str, texts: list[str]) -> list[float]:
        query, texts = whole_characters(query), [whole_characters(text) for text in texts]
        body = {"query": query, self._api.texts: texts, **(self._api.more or {})}
        if self._model:
            body["model"] = self._model
        characters = len(texts) * len(query) + sum(map(len, texts))
        load = Load(len(texts), characters, -(-characters // 4), self.spec.price / 1_000, priced=self.spec.price > 0)
        return self._scores(await self._client.post("/rerank", body, load), len(texts))

    def _scores(self, answer: object, many: int) -> list[float]:
        """Return the scores in the texts' order. Raises `ProviderError` for what can't be told apart from a mix-up."""
        title = self._client.service.title
        if isinstance(answer, dict):
            answer = next((answer[name] for name in self._api.results if isinstance(answer.get(name), list)), None)
        if not isinstance(answer, list):
            raise ProviderError(f"{title} gave no scores", "Check `baseUrl`: it must speak Cohere's API, or name its provider.")
        scores: dict[int, float] = {}
        for item in answer:
            fields = as_dict(item)
            number = fields.get("index")
            score = next((fields[name] for name in self._api.score if name in fields), None)
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < many:
                raise ProviderError(f"{title} gave a score that belongs to no text.")
            if not isinstance(score, int | float) or isinstance(score, bool) or not math.isfinite(score):
                raise ProviderError(f"{title} gave a score that is no number.")
            if number in scores:
                raise ProviderError(f"{title} gave two scores for one text.")
            scores[number] = float(score)
        if len(scores) < many:
            raise ProviderError(f"{title} gave scores for {len(scores)} of {many} texts.")
        self._raw = self._raw or not all(0 <= score <= 1 for score in scores.values())
        return [_sigmoid(scores[number]) if self._raw else scores[number] for number in range(many)]


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(max(value, -700.0)) / (1 + math.exp(max(value, -700.0)))
