"""Text that forges the markup of a conversation or of a tool's call, or hides letters from its reader.

Such text is data and stays as it is; a person is told of it, since no escaping keeps a model from believing what it reads.
Orders in plain words aren't looked for. docs/security.md has what is noticed, and how often in harmless text.
"""

from __future__ import annotations

from collections.abc import Iterable

from carrel.model.patterns import lazy_pattern
from carrel.model.types import Chunk
from carrel.pack.appearance import folded

# For folded text: small letters, no blanks. Tokens of the chat templates of ChatML, Llama 2 and 3, Mistral, Hermes and Harmony;
# calls as OpenAI, Anthropic, MCP and ReAct write them; turns of a transcript; a pack's own tags.
_MARKUP = lazy_pattern(
    r"<\|(?:im_start|im_end|start_header_id|end_header_id|python_tag|eot_id|begin_of_text|endoftext|start|channel|message|call"
    r"|system|user|assistant)\|>|\[/?inst\]|\[tool_calls\]|<</?sys>>|```tool_(?:call|code)\b"
    r"|</?(?:tool_call|tool_result|function_calls|function_results|function_response|system_prompt)>|<(?:antml:)?invokename="
    r"|[\"'](?:(?:tool_calls|function_call)[\"']:[\[{]|type[\"']:[\"']tool_use[\"']|role[\"']:[\"']system[\"'],[\"']content[\"'])"
    r"|[\"'](?:method[\"']:[\"'](?:tools/call|notifications/tools/list_changed)|name[\"']:[\"'][\w.-]+[\"'],[\"']arguments"
    r"|tool[\"']:[\"'][^\"'\n]+[\"'],[\"']args)[\"']"
    r"|\n(?:(?:user|human):.*\n+(?:assistant|ai)|action:\w+\n+actioninput):|</?(?:code|rag)_context"
)
# Tags that spell ASCII, longer than those of a flag; overrides of the direction of writing; words with blanks between letters.
_HIDDEN = lazy_pattern("[\U000e0020-\U000e007e]{8}|[\u202d\u202e]|(?:\\w[\u200b\u2060\u2062\u2063\ufeff]){2}")


def forgery(text: str) -> str | None:
    """Return in words what a text forges or hides; None where it does neither."""
    if not text.isascii() and _HIDDEN.search(text):
        return "hides letters"
    return "forges the markup of a conversation or a tool" if _MARKUP.search(f"\n{folded(text)}") else None


def notice_of(texts: Iterable[tuple[Chunk, str]]) -> str | None:
    """Return what a person must know of texts that were given of chunks: that some of them forge markup or hide letters."""
    forgeries = [(chunk, what) for chunk, text in texts if (what := forgery(text))]
    if not forgeries:
        return None
    chunk, what = forgeries[0]
    place = f"{chunk.path}:{chunk.span.start_line}-{chunk.span.end_line}"
    others = f" ({len(forgeries) - 1} more places do such a thing)" if len(forgeries) > 1 else ""
    return f"A place may mislead the model: {place} {what}{others}. It is given as data; look at it before you trust an answer."
