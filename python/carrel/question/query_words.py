"""What a question is made of: its telling words, and the symbols that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from carrel.model import native
from carrel.model.native import split_names, stem
from carrel.model.patterns import lazy_pattern
from carrel.model.ports import ChunkId
from carrel.question.languages import in_english
from carrel.question.routing_rules import asks_for_documents
from carrel.question.stack_frames import Frame, named_places

# Words of questions, not of code. Everything else may be a name.
_STOP_WORDS = frozenset(
    """
    a about all also an and any are as at be been but by can code come comes could did do does each find for from get gets
    give has have how i if in into is it its know like make me my no not of on one or our out please s should show so
    some such t tell than that the their them then there these they this to up us use used uses using via was we
    were what when where which who why will with would you your
    """.split()  # noqa: SIM905 - a list of words reads best as text
)

_SMALL_TALK = frozenset(
    """
    afternoon again awesome bye cheers continue cool day evening everyone fine friend fun good goodbye great greetings haha
    hello help helped hey hi hm hmm interesting job joke later lol lot luck mind moment morning much name never nice night no
    nope now ok okay perfect please right see sorry sounds speak sure tell thank thanks think tired today tomorrow too
    understand very wait week weekend welcome well whats wonderful wow wrong yeah yep yes
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
_BETWEEN = frozenset(
    """
    a all am an and are be can could did do does don everybody for going have how i is it m me my of on one s so t that the
    there this to up was we what who will with work would you your
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
"""Words that greet, thank or agree, and those that stand between them."""

_NAMED = lazy_pattern(
    r"""`([^`\s]+)`                                                  # in backticks
        |\b([^\W\d]\w*(?:(?:::|\.|->|\#)[^\W\d]\w*)+)                # qualified
        |\b((?=\w{0,99}[a-z]\w{0,99}[A-Z]|\w{1,99}_\w)\w+)\b        # camelCase, PascalCase, snake_case
    """,
    re.VERBOSE,
)
_CONVENTIONAL = lazy_pattern(
    r"^(?:build|chore|ci|docs?|feat|feature|fix|patch|perf|refactor|revert|style|tests?)(?:\(([^()]{0,99})\))?!?:\s+(?=\S)",
    re.IGNORECASE,
)
"""A change as many projects head it: `fix(parser): …` (conventionalcommits.org). The scope tells the place, the type nothing."""
_CHANGE = lazy_pattern(
    r"""^(?:(?:hi|hello|hey)[,!.]?\s+)?
        (?!(?:\S{1,40}\s)?(?:error|exception|fatal|hint|note|panic|traceback|warning)s?:)     # pasted, not wished for
        (?:\[[^\[\]]{1,40}\]:?\s+ | (?:[^\s:]{1,40}\s)?[^\s:]{1,40}:\s+ | \#\d+:?\s+)?     # [core], Issue #12:, parser:, #12
        (?:please\s+ | (?:can|could|would|will)\s+you\s+(?:please\s+)? | let['\u2019]?s\s+
          | (?:i|we)(?:['\u2019]d|\s+would)?\s+(?:like|need|want)\s+(?:you\s+)?to\s+)?
        (?:(?:always|also|correctly|explicitly|never|only|properly)\s+)?
        (?:(?:add(?:s|ed)?|allow|avoid|bump|change|clarify|clean\s+up|deprecate|disable|disallow|drop|enable|ensure|expose
            |fix(?:es|ed)?|forbid|get\s+rid|handle|ignore|implement|improve|introduce|keep|make|migrate|modernize|move|optimi[sz]e
            |port|prefer|preserve|prevent|refactor|relax|remove[sd]?|rename|replace|respect|revert|rework|rewrite|simplify
            |speed\s+up|support|switch|tweak|unify|update[sd]?|upgrade|use)\s+
            (?!(?:are|cases?|for|has|have|is|occurs|of|was|were)\b)   # not a noun: support for x
          |(?:do\s+not|don['\u2019]t)\s+)\S+\s+\S
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A wish for other code. Words for what code itself does (convert, validate, delete) are left out: they ask for a place."""
ASKING = lazy_pattern(
    r"^(?:please\s+)?(?:describe|explain|locate|look\s+(?:for|up)|search\s+for)\s+(?:to\s+me\s+)?(?=\S)", re.IGNORECASE
)
"""What a question begins with that says what to do, not what it is about."""
_QUESTION = lazy_pattern(
    r"(?i)\W*(?:(?:and|but|or|so|then)\b\W*)?(?:who|whose|what|which|where|when|why|how)\b|(?s:.*)[?？]\s*\Z"  # noqa: RUF001
)
_TO_AGENT = lazy_pattern(r"(?i)\byou(?:rs?)?\b")
_TOKEN = lazy_pattern(r"[^\s\w]{0,9}\w(?:[\w.:/\\#-]|[^\s\x00-\x7f])*")
"""A letter's marks are no word characters: Devanagari's vowels are such marks."""
_LONGEST_SYMBOL = 200
_SEPARATOR = lazy_pattern(r"::|\\|->|\.|#")


class ParsedQuery(Struct, frozen=True):
    """A query, taken apart once for all rules."""

    text: str  # without the type and scope of a change
    scope: frozenset[str]  # words of the part of the project that it names, split and stemmed; empty for all of it
    search_text: str  # what the lexical arm is asked: the text without words of speech
    quoted: str  # what a text may hold word for word; of a question about one identifier or code that alone
    words: tuple[str, ...]  # telling words, lower-case, split, stemmed, without repeats
    names: tuple[str, ...]  # symbols that it names, without their qualifiers, as written
    is_symbol: bool  # nothing but a symbol
    identifier: str  # where it is nothing but a name, a plain word too: that name with its qualifiers; otherwise empty
    is_change: bool  # how the code should become, as a commit or a task says it
    plain: frozenset[str]  # every word of it, split and lower-case

    @property
    def is_small_talk(self) -> bool:
        """Tell whether it only greets, thanks or agrees."""
        return is_small_talk(self.text)

    @property
    def has_telling_words(self) -> bool:
        """Tell whether any of its words isn't one of questions."""
        return bool(telling_words(self.text))

    @property
    def wants_documents(self) -> bool:
        """Tell whether it is for documents as much as for code."""
        return asks_for_documents(self.text)

    @property
    def places(self) -> tuple[Frame, ...]:
        """Return the places that it names by file and line, the last one first."""
        return named_places(self.text)

    def parsed(
        self, *, quotes: bool = False, vector: bytes = b"", scores: Sequence[tuple[ChunkId, float]] | None = None
    ) -> native.ParsedQuery:
        """Return it as the index takes it, with its vector or the cosines that a store elsewhere found."""
        return native.ParsedQuery(
            self.text,
            self.search_text,
            quoted=self.quoted if quotes else "",
            words=self.words,
            names=self.names,
            scope=list(self.scope),
            plain=self.plain,
            is_symbol=self.is_symbol,
            is_change=self.is_change,
            vector=vector,
            scores=scores,
        )


def read(text: str) -> ParsedQuery:
    """Take a query apart."""
    text = whole = text.strip()
    scope = ""
    if meant := in_english(text, _STOP_WORDS):
        text = meant.text
    if heading := _CONVENTIONAL.match(text):
        scope = heading[1] or ""
        text = f"{scope} {text[heading.end() :]}".strip()
    identifier = _identifier(text)
    is_symbol = _is_symbol(identifier)
    text = identifier if is_symbol else text
    names: list[str] = [last_part(identifier)] if identifier else []
    names += [last_part(name) for match in _NAMED.finditer(text) for name in match.groups() if name]
    rest = ASKING.sub("", text)
    words = telling_words(rest) or split_names(rest)
    telling = [token for token in _TOKEN.findall(rest) if token.lower() not in _STOP_WORDS]
    about = " ".join(telling).strip(".,;:!?\"'`()")
    quoted = about if is_code(about) else whole if meant else text
    return ParsedQuery(
        text=text,
        scope=frozenset(stem(word) for word in split_names(scope.rpartition("/")[2])),
        search_text=" ".join((*telling, *(meant.own_words if meant else ()))) or rest,
        quoted=quoted,
        words=tuple(dict.fromkeys(stem(word) for word in words)),
        names=tuple(dict.fromkeys(filter(None, names))),
        is_symbol=is_symbol,
        identifier=identifier,
        is_change=not is_symbol and (heading is not None or _CHANGE.match(whole) is not None),
        plain=frozenset(split_names(whole)),
    )


def _identifier(text: str) -> str:
    """Return the name that a text is, without quotes around it and a call's brackets behind it; empty if it is more or a word of
    questions.
    """
    bare = text[: _LONGEST_SYMBOL + 1].strip('`"')
    bare = bare.strip("`'\"") if bare.startswith("'") else bare  # alone at the end it belongs to a name of Haskell or OCaml
    bare = bare.removesuffix("()")
    fits = len(bare) <= _LONGEST_SYMBOL and bare.lower() not in _STOP_WORDS
    return bare if fits and (_is_symbol(bare) or _is_word(bare)) else ""


def _is_symbol(text: str) -> bool:
    """Tell whether a text is a qualified name, or one that is written as no word is."""
    parts = _SEPARATOR.split(text[:-1] if text.endswith(("?", "!")) else text.rstrip("'"))
    return all(map(str.isidentifier, parts)) and (len(parts) > 1 or "_" in text or text != text.lower())


def _is_word(text: str) -> bool:
    """Tell a name as most languages write it, or as Lisp does: `with-tag`, `empty?`, `swap!`."""
    parts = (text[:-1] if text.endswith(("?", "!", "*")) else text.rstrip("'")).split("-")
    return len(text) > 1 and parts[0].isidentifier() and all(f"_{part}".isidentifier() for part in parts) and parts[-1] != ""


def is_named(symbol: str, identifier: str) -> bool:
    """Tell whether a symbol may be the one that an identifier names: where it has qualifiers, they must be the symbol's last."""
    wanted, parts = _SEPARATOR.split(identifier), _parts(symbol)
    return len(wanted) == 1 or wanted in (parts[-len(wanted) :], [*parts[1 - len(wanted) :], wanted[-1]])  # or its class's


def ends_with(symbol: str, identifier: str) -> bool:
    """Tell whether a symbol's last parts are those of an identifier.

    A name alone is that of a class, not of the constructor that is called like it.
    """
    wanted, parts = _SEPARATOR.split(identifier), _parts(symbol)
    return parts[-len(wanted) :] == wanted and (len(wanted) > 1 or parts[-2:] != 2 * wanted)


def last_part(name: str) -> str:
    """Return a name without its qualifiers."""
    return _SEPARATOR.split(name)[-1]


def _parts(symbol: str) -> list[str]:
    return _SEPARATOR.split(symbol.removesuffix(" (header)"))  # as the chunk of a class's head is called


def telling_words(text: str) -> list[str]:
    """Return the words of a text, split and lower-case, without those of questions."""
    return [word for word in split_names(text) if word not in _STOP_WORDS]


def is_code(text: str) -> bool:
    """Tell whether a text is one token that is no word of speech: `max_size`, `ORA-12154`, `E0382`."""
    if not 0 < len(text) <= _LONGEST_SYMBOL or len(text.split()) != 1:
        return False
    return any(char.isdigit() or char == "_" for char in text) or any(a.islower() and b.isupper() for a, b in pairwise(text))


def is_question(text: str) -> bool:
    """Tell whether a text asks for something of the code: what is asked of "you" is about who answers, or their work."""
    return (_QUESTION.match(text) or ASKING.match(text)) is not None and _TO_AGENT.search(text) is None


def is_sentence(text: str) -> bool:
    """Tell a person's line from a program's: it asks, or holds one of the small words of speech, in lower case."""
    return is_question(text) or not _STOP_WORDS.isdisjoint(text.split())


def is_small_talk(text: str) -> bool:
    """Tell whether a text only greets, thanks or agrees."""
    words = "".join(char if char.isalnum() or char == "_" else " " for char in text.casefold()).split()
    return any(word in _SMALL_TALK for word in words) and all(word in _SMALL_TALK or word in _BETWEEN for word in words)
