"""Serve embeddings by llama.cpp's own HTTP server: `python llama_server.py FOLDER`, in an environment with xllamacpp and gguf.

The model is a BERT of one layer with random weights that is made on the spot; its first line of output is the server's URL.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import gguf
import numpy as np
import xllamacpp

DIM, HIDDEN, LONGEST = 64, 128, 2_048
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make(path: Path) -> None:
    """Write the model."""
    random = np.random.default_rng(1)
    characters = [chr(code) for code in range(33, 127)]
    tokens = [*SPECIAL, *(f"\u2581{character}" for character in characters), *characters]
    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_context_length(LONGEST)
    writer.add_embedding_length(DIM)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(2)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL] * len(SPECIAL) + [gguf.TokenType.NORMAL] * (len(tokens) - len(SPECIAL)))
    writer.add_token_type_count(2)
    for name, number in (("pad", 0), ("unk", 1), ("bos", 2), ("eos", 3), ("sep", 3), ("mask", 4)):
        getattr(writer, f"add_{name}_token_id")(number)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, random.normal(0, 0.3, shape).astype(np.float32))

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(DIM, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(DIM, np.float32))

    add("token_embd.weight", len(tokens), DIM)
    add("token_types.weight", 2, DIM)
    add("position_embd.weight", LONGEST, DIM)
    norm("token_embd_norm")
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{name}.weight", DIM, DIM)
        add(f"blk.0.{name}.bias", DIM)
    norm("blk.0.attn_output_norm")
    add("blk.0.ffn_up.weight", HIDDEN, DIM)
    add("blk.0.ffn_up.bias", HIDDEN)
    add("blk.0.ffn_down.weight", DIM, HIDDEN)
    add("blk.0.ffn_down.bias", DIM)
    norm("blk.0.layer_output_norm")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Serve until the process is ended."""
    path = Path(sys.argv[1]) / "tiny.gguf"
    make(path)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.embedding = True
    parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = LONGEST * 4
    parameters.n_parallel = 4
    parameters.port = 0
    parameters.n_gpu_layers = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
