"""Serve a tiny model of random weights by the real llama.cpp: `python tiny_llama.py FOLDER chat|rerank` prints its address.

Run by a Python that has `xllamacpp` (llama.cpp's server as a wheel) and `gguf`. The model knows bytes only and says nonsense.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import gguf
import numpy as np
import xllamacpp

TEMPLATE = """{%- if tools %}<|im_start|>system
# Tools
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}
{%- endif %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""As Qwen's: a model whose template knows no tools is never offered any."""
CALL = "<tool_call>\n"
"""The last token: a question may favour it (`logit_bias`), and the server's grammar has the model say a whole call then."""
WIDTH, HEADS, BLOCKS, INNER, CONTEXT = 64, 4, 2, 128, 4_096


def write(path: Path) -> None:
    """Write a model of llama's architecture."""
    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁hello", "▁code", "▁the", CALL]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * (len(words) - 259)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_space_prefix(False)  # the grammar of calls begins with the template's own words
    writer.add_chat_template(TEMPLATE)
    generator = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, (generator.standard_normal(shape) * 0.1).astype(np.float32))

    def ones(name: str) -> None:
        writer.add_tensor(name, np.ones(WIDTH, np.float32))

    add("token_embd.weight", len(words), WIDTH)
    ones("output_norm.weight")
    add("output.weight", len(words), WIDTH)
    for block in range(BLOCKS):
        ones(f"blk.{block}.attn_norm.weight")
        ones(f"blk.{block}.ffn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{block}.{part}.weight", WIDTH, WIDTH)
        add(f"blk.{block}.ffn_gate.weight", INNER, WIDTH)
        add(f"blk.{block}.ffn_up.weight", INNER, WIDTH)
        add(f"blk.{block}.ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(folder: Path, what: str) -> None:
    path = folder / "tiny.gguf"
    if not path.exists():
        write(path)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {"tiny"}
    params.n_ctx = CONTEXT
    params.n_parallel = 2
    params.warmup = False
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    if what == "rerank":
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
    server = xllamacpp.Server(params)
    print(f"Listening on {server.listening_address}", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
