"""Serve a model's weights by the real llama.cpp: `python serve_gguf.py FILE.gguf [WINDOW]` prints its address.

Run by a Python that has `xllamacpp`, as tiny_llama.py.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import xllamacpp

THREADS = int(os.environ.get("CARREL_LLAMA_THREADS", os.cpu_count() or 1))
"""More than there are free cores make it many times slower: its threads wait for each other."""


def main(path: Path, window: int) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem}
    params.n_ctx = window
    params.n_parallel = 1
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    server = xllamacpp.Server(params)
    print(f"Listening on {server.listening_address}", flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8_192)
