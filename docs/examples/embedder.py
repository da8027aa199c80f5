"""An embedder for any server that speaks OpenAI's API; docs/extending.md says how to use it."""

import httpx

from carrel.model.errors import ProviderError
from carrel.model.ports import EmbeddingSpec
from carrel.model.structs import whole_characters
from carrel.model.vectors import Vectors


class OpenAIEmbedder:
    """Embeddings of an OpenAI-compatible server."""

    def __init__(self, client: httpx.AsyncClient, model: str, dim: int, *, longest: int = 16_000) -> None:
        self.spec = EmbeddingSpec(f"openai:{model}", dim, floor=0.3, max_texts=100, max_tokens=100_000, leaves_machine=True)
        self._client, self._model, self._longest = client, model, longest

    async def embed(self, texts, kind):
        rows = [[0.0] * self.spec.dim for _ in texts]  # services refuse empty texts
        asked = [number for number, text in enumerate(texts) if text.strip()]
        if asked:
            sent = [whole_characters(texts[number][: self._longest]) for number in asked]
            for number, row in zip(asked, await self._request(sent), strict=True):
                rows[number] = row
        return Vectors.unit(rows, self.spec.dim)

    async def _request(self, texts):
        try:
            answer = await self._client.post("/embeddings", json={"model": self._model, "input": texts})
            answer.raise_for_status()
            return [item["embedding"] for item in sorted(answer.json()["data"], key=lambda item: item["index"])]
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise ProviderError(f"The embedding service answered {status}.", retryable=status in (429, 503)) from error
        except httpx.TransportError as error:
            raise ProviderError(f"The embedding service can't be reached: {error}", retryable=True) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ProviderError(f"The embedding service gave no embeddings: {error!r}") from error
