"""Text as a tolerant reader sees it, so that markup is found however it is disguised.

A chat model doesn't parse: it may read `< / Code_Context >`, a tag with a zero-width space in it, one in full-width
characters and one with a Cyrillic letter as the same tag. Here a text is folded to what all of them look like: what isn't seen is
dropped (control, format, private and unassigned characters, combining marks, every kind of blank), compatibility forms and
look-alikes become the ASCII that they resemble, and every kind of line end becomes a line feed. Matches are found in the
folded text and told as positions in the original, which stays as it is.

Not folded: spellings that a reader must decode first, such as `&lt;` and `\u003c`.

Text that forges the markup of a conversation or of a tool's call, or hides letters from its reader.

Such text is data and stays as it is; a person is told of it, since no escaping keeps a model from believing what it reads.
Orders in plain words aren't looked for. docs/security.md has what is noticed, and how often in harmless text.
"""

# ruff: noqa: RUF001 - the look-alikes are what this is about
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from carrel.model.patterns import lazy_pattern
from carrel.model.types import Chunk

LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\u0085\u2028\u2029"
_BREAKS = lazy_pattern(rf"[\t{LINE_ENDS}]+")
_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")

# Letters and symbols that are blank though their category says otherwise: the Hangul fillers, the empty Braille pattern, the
# null notehead, the object replacement character and the replacement character.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0\U0001d159\ufffc\ufffd"

# What looks like the ASCII characters of the markup, beside its compatibility forms: from Unicode's confusables (UTS 39).
# Characters that resemble both i and l stand with l; patterns take either for the other.
_LOOKALIKES = {
    "<": "˂ᐸᚲ‹❮〈⟨⧼𝈶",
    ">": "˃ᐳ›❯〉⟩⧽𖼿𝈷",
    "/": "᜵⁁⁄∕╱⟋⧸ⳇノ㇓丿𝈺",
    "_": "‗ˍ⎯▁",
    "-": "˗‐‑‒–⁃−─➖ⲻ",
    "---": "—―⸺⸻",
    ":": "ː˸։ःઃ᛬᠃᠉⁚∶ꓽ꞉",
    "(": "❨❪❲〔﴾",
    ")": "❩❫❳〕﴿",
    "a": "ɑαаᎪᗅ⍺ꓮ𐊠𖽀",
    "b": "ƅβвьᏏᏴᑲᖯᗷꓐꞵ𐊂𐊡𐌁",
    "c": "ϲсᏟᴄⲥꓚ𐊢𐌂𐐽𐔜𑣩𑣲🝌",
    "d": "ԁᎠᏧᑯᗞᗪꓒꓓ",
    "e": "εеҽᎬ℮⋿ⴹꓰꬲ𐊆𑣆𑣎",
    "f": "ϝքᖴẝꓝꞙꬵ𐊇𐊥𐔥𑣂𝈓",
    "g": "ƍɡԍցᏀᏳᶃꓖ",
    "l": "ıɩɪ˛ιіӏᎥ⍳ꙇ𑣃ǀᏞᒪᛁ∣⏽ⲓⳑⵏꓡꓲ𐊊𐌉𐌠𐑃𐔦𑣒𖼖𖼨𝈪",
    "n": "νոռⲛꓠ𐔓ո",
    "o": "οσоօᴏᴑⲟⵔ〇ꓳꬽ𐊒𐊫𐐬𐓪𐔖ჿዐဝଠ",
    "r": "ʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ𐓜𖼵𝈖",
    "s": "ƽѕտᏕᏚꓢꜱ𐊖𐑈𑣁𖼺",
    "t": "τтᎢ⊤⟙ⲧꓔ𐊗𐊱𐌕𑣜𖼊🝨",
    "u": "ʋυսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓶𑣘𖽂",
    "x": "×χхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲭⵝꓫꭓ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏγυϒуүყᎩᎽᶌⲩꓬꭚ𐊲𑣄𑣜𖽃",
}
_SEEN_AS = {char: plain for plain, chars in _LOOKALIKES.items() for char in chars}

# "Tags" spell ASCII invisibly. Most readers see nothing, some models read the letters: both readings are looked at.
_VARIANTS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x034F, 0x17B4, 0x17B5)))
_UNTAGGED = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}


class _Folding(dict[int, str]):
    """What each character is seen as, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold(chr(code))
        return folded


def _fold(char: str) -> str:
    if char in LINE_ENDS:
        return "\n"
    return "".join(_plain(part) for part in unicodedata.normalize("NFKD", char))


def _plain(char: str) -> str:
    if char in _BLANK or unicodedata.category(char)[0] in "CMZ":
        return ""
    small = char.casefold()
    return _SEEN_AS.get(char) or _SEEN_AS.get(small) or small


_FOLDING = _Folding()
_OTHERS = lazy_pattern(r"[^\x00-\x7f]+")
# ASCII, most of all code, is folded as bytes: that takes a fiftieth of the time.
_ASCII = bytes(ord(_FOLDING[code] or " ") if code < 0x80 else code for code in range(0x100))
_UNSEEN_ASCII = bytes(code for code in range(0x80) if not _FOLDING[code])


def folded(text: str) -> str:
    """Give the text as it is seen: without blanks, in small letters, in ASCII where it looks like it."""
    if not text.isascii():
        text = _OTHERS.sub(lambda match: match[0].translate(_FOLDING), text)
    return text.encode().translate(_ASCII, _UNSEEN_ASCII).decode()


def spelled(words: str) -> str:
    """Give a pattern for these words in a folded text, whatever line ends are between their letters."""
    return r"\n*".join("[il]" if char in "il" else re.escape(char) for char in folded(words))


def escape(pattern: re.Pattern[str], text: str) -> tuple[str, bool]:
    """Put a backslash at the end of each match of `pattern` in the folded text; the second value says whether there was one.

    The pattern is for folded text: it looks ahead for what shall follow the backslash.
    """
    places: set[int] = set()
    for reading in (text,) if text.isascii() else {text, text.translate(_UNTAGGED)}:
        ends = [match.end() for match in pattern.finditer(folded(reading))]
        if ends:
            starts = [0, *(at + 1 for at in _positions(reading))]
            places.update(starts[end] for end in ends)
    if not places:
        return text, False
    cuts = [0, *sorted(places), len(text)]
    return "\\".join(text[start:end] for start, end in pairwise(cuts)), True


def one_line(text: str) -> str:
    """Give a name on one line, without control characters."""
    return _BREAKS.sub(" ", text).translate(_CONTROLS)


def visible(text: str) -> str:
    """Return a text on one line in which all that a reader wouldn't see is spelled out, such as `\\u200b`."""
    return "".join(char if _is_seen(char) else _number(ord(char)) for char in _BREAKS.sub(" ", text))


def _number(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_seen(char: str) -> bool:
    """Tell whether a character shows; selectors of variants carry text unseen as well."""
    return char.isprintable() and char not in _BLANK and char not in _VARIANTS


def _positions(text: str) -> Iterator[int]:
    """Return the place in the text of each character of its folded form."""
    for at, char in enumerate(text):
        for _ in _FOLDING[ord(char)]:
            yield at


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
