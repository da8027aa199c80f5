"""A model, a store and an embedder for `carrel.rag`: plain objects; docs/rag.md uses them."""

import json

import httpx


class Chat:
    """A chat model of an OpenAI-compatible server."""

    def __init__(self, client: httpx.Client, model: str, window: int) -> None:
        self.max_seq_length = window
        self._client, self._model = client, model

    def ask(self, *, system_prompt, user_prompt, temperature, max_new_tokens, stream, chat_history=(), **more):
        system, user = {"role": "system", "content": system_prompt}, {"role": "user", "content": user_prompt}
        body = {"model": self._model, "messages": [system, *chat_history, user], "temperature": temperature}
        body |= {"max_tokens": max_new_tokens, "stream": stream, **more}
        return self._stream(body) if stream else self._whole(body)

    def _whole(self, body):
        answer = self._client.post("/chat/completions", json=body).raise_for_status()
        return answer.json()["choices"][0]["message"]["content"]

    def _stream(self, body):
        with self._client.stream("POST", "/chat/completions", json=body) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    yield json.loads(line[6:])["choices"][0]["delta"].get("content") or ""


class Notes:
    """A store of a few texts, by the cosine of their vectors."""

    def __init__(self, embedder, notes):
        self._notes = [{"text": text, "metadata": {"source": name}} for name, text in notes.items()]
        self._vectors = embedder.embed(list(notes.values()), normalize_embeddings=True)

    def similarity_search(self, query_embedding, top_k, metadata_filter, similarity_threshold):
        scores = [sum(a * b for a, b in zip(query_embedding, vector, strict=True)) for vector in self._vectors]
        found = [
            (note, score)
            for note, score in zip(self._notes, scores, strict=True)
            if all(note["metadata"].get(key) == value for key, value in (metadata_filter or {}).items())
            and (similarity_threshold is None or score >= similarity_threshold)
        ]
        return sorted(found, key=lambda pair: -pair[1])[:top_k]


class Letters:
    """Stands for an embedding model."""

    def embed(self, texts, normalize_embeddings):
        return [[text.lower().count(letter) / len(text) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
