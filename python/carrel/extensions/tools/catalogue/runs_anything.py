"""Tools that run any command line, script or code that is sent to them. None of them is ever run, by no setting.

The words of a tool's name say it, or a parameter that takes a command or code to be run. This is about what honest tools call
themselves: a server that lies about a tool is kept off by the person's approval.
"""

# ruff: noqa: SIM905 - lists of words read best as text
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from carrel.model.catalogue_tool import CatalogueTool
from carrel.model.patterns import lazy_pattern

_FORMS = {
    "run": "run running runs runner",
    "exec": "exec execs",
    "execute": "execute executes execution executions executor",
    "eval": "eval evaluate evaluates evaluation evaluator",
    "interpret": "interpret interpreter",
    "invoke": "invoke invocation",
    "spawn": "spawn spawns popen",
    "start": "start launch launcher open",
}
_VERBS = {form: verb for verb, forms in _FORMS.items() for form in forms.split()}
_SHELLS = frozenset(
    "sh bash zsh fish ksh csh dash shell powershell pwsh cmd terminal tty repl ssh sudo subprocess applescript osascript "
    "ipython jshell irb".split()
)
_LANGUAGES = frozenset("python python3 py javascript js jxa typescript nodejs deno ruby perl php lua groovy vbscript".split())
_OTHER_LANGUAGES = frozenset(
    "node go rust csharp cpp java c r ts vba matlab lua clojure clj cljs elisp kotlin scala haskell julia".split()
)
"""They mean something else, too: they count beside a verb alone."""
_COMMANDS = frozenset("command commands cmds commandline cmdline argv".split())
_PROGRAMS = frozenset("process subprocess program executable binary".split())
_CODE = frozenset("code script scripts snippet".split())
_THINGS = _SHELLS | _LANGUAGES | _COMMANDS | _PROGRAMS | _CODE
_OBJECTS = _THINGS | _OTHER_LANGUAGES | frozenset("cell macro console cli kernel".split())
_EVERYDAY = frozenset("process program terminal".split())
"""They stand for something else behind a word of another trade (`business_process`, `payment_terminal`)."""
_STRONG = _SHELLS | _LANGUAGES | (_COMMANDS - {"commands"}) | {"exec", "execute", "eval", "interpreter", "popen"}
"""A name of such words, verbs and things alone is enough where one of these is among them."""
_WHOLE = ("rm", "dd", "system")
"""Names that say it as they are, and nothing as parts of others."""
_TALKS = frozenset("send write type enter".split())
_OPEN_ENDED = frozenset("terminal tty pty tmux iterm repl shell console stdin command commands cmd".split())
"""Words for programs that run any text that is sent to them."""
_RELATIONS = frozenset("in into on inside at with without from for to by as via through and then or over using".split())
_NEUTRAL = frozenset(
    "tool tools mcp server the a any arbitrary line lines session string text block file async sync batch background "
    "sandbox sandboxed remote local unsafe safe raw simple input stdin interactive container pod docker vm "
    "host device system os child new external use key keys data".split()
)
"""Words that leave it as it is what is run."""
_LOOKS = frozenset(
    "get list describe show find search read fetch count view watch wait poll lookup explain help parse check validate lint "
    "format analyze analyse review complete suggest delete remove cancel stop kill close clear focus resize rename "
    "translate".split()
)
"""First words of what looks at commands or code, or ends what runs."""
_KEEPS = frozenset("save create add edit update generate set register".split())
"""First words of what keeps commands or code."""

_CARRIERS = frozenset("input payload task arg args arguments text content body cell expr statement stdin instruction".split())
"""Names of parameters that say nothing: the tool's own description tells what becomes of them."""

_RUNNABLE = r"\b(?:commands?|cmd|shell|bash|terminal|scripts?|code|snippets?|cells?|javascript|js|typescript|python|programs?)\b"
_VERB = r"(?:run\b|execut|evaluat|interpret|spawn|invoke)"
_TO_RUN = lazy_pattern(rf"\b(?:to|be|is|are|and|gets?)\s+{_VERB}", re.IGNORECASE)
_RUN = lazy_pattern(r"(?<!was )(?<!were )\b(?:execut|evaluat|spawn|run\b|runs\b|running\b|invoke)", re.IGNORECASE)
_IS_RUN = lazy_pattern(rf"{_RUNNABLE}[^.]{{0,40}}?\b(?:to|be|is|are|and|gets?)\s+{_VERB}", re.IGNORECASE)
_RUNS_THINGS = lazy_pattern(
    r"\b(?:execut|evaluat|interpret|spawn|run\b|runs\b|invoke)\w*\s+"
    r"(?:(?!(?:with|by|for|of|using|from|over|on|in|to|against|through)\b)[^\s.]+\s+){0,4}?"
    rf"{_RUNNABLE}(?!\s+(?:review|search|system|check|analys|quality|coverage|scan|complet))",
    re.IGNORECASE,
)
_REFERS = lazy_pattern(r"\b(?:name|id)\b", re.IGNORECASE)
"""Of what is there already."""


def runs_anything(tool: CatalogueTool) -> bool:
    """Tell whether a tool runs whatever it is given, by its name or by what it takes."""
    if is_named_so(tool.name):
        return True
    of_tool = _Said(tool)
    return any(_takes_what_it_runs(name, schema, of_tool) for name, schema in _texts_of(tool.schema))


def is_named_so(name: str) -> bool:
    """Tell whether the name of a tool says that it runs whatever it is given."""
    return _says_so(_words(name)) or _says_so(_words(re.split(r"__|[./:]", name)[-1]))


def _words(name: str) -> list[str]:
    """Return the words of a name, however they are joined; two that are written as one come apart."""
    name = re.sub(r"(Power|Java|Apple|Type)S(?=hell|cript)", r"\1s", name)
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+", " ", name).lower().split()
    bare = (word if word in _OBJECTS else word.rstrip("0123456789") for word in parted)
    return [part for word in bare if word not in ("", "v") for part in _apart(word)]


def _apart(word: str) -> tuple[str, ...]:
    if word not in _VERBS and word not in _OBJECTS and word not in _NEUTRAL:
        for at in range(2, len(word) - 1):
            first, second = word[:at], word[at:]
            if (first in _VERBS and second in _THINGS) or (first in _THINGS and (second in _VERBS or second in _THINGS)):
                return first, second
    return (word,)


def _says_so(words: list[str]) -> bool:
    if _STRONG.intersection(words) and all(word in _VERBS or word in _THINGS or word in _NEUTRAL for word in words):
        return True  # `bash_tool`, `shell_command`, `code_interpreter`
    if len(words) == 1 and words[0] in _WHOLE:
        return True
    if _begins(words, _LOOKS | _KEEPS):
        return False
    held = [word for word in words if word not in _NEUTRAL]
    if _names(held, _SHELLS) or held[-1:] in (["command"], ["cmd"]):  # `acme_shell`, `adb_command`
        return True
    return any(_acts_at(words, at) for at in range(len(words)))


def _names(phrase: list[str], things: frozenset[str]) -> bool:
    """Tell whether a phrase names one of these things, by its last word: `python_code`, not `code_review`."""
    if not phrase or phrase[-1] not in things:
        return False
    return phrase[-1] not in _EVERYDAY or all(word in _OBJECTS or word in _VERBS or word in _TALKS for word in phrase)


def _begins(words: list[str], verbs: frozenset[str]) -> bool:
    """Tell whether a name begins with one of these verbs, and goes on with no other."""
    return bool(words) and words[0] in verbs and not {"and", "then"}.intersection(words)


def _acts_at(words: list[str], at: int) -> bool:
    """Tell whether the word at this place is a verb whose object, before it or behind it, is a command, a script or code."""
    verb, talks = _VERBS.get(words[at]), words[at] in _TALKS
    if verb is None and not talks:
        return False
    things = _OPEN_ENDED if talks else _SHELLS | _PROGRAMS if verb == "start" else _OBJECTS
    behind = words[at + 1 :]
    near = list(takewhile(lambda word: word not in _RELATIONS, behind))
    far = [word for word in behind[len(near) + 1 :] if word not in _NEUTRAL and word not in _RELATIONS]
    where = (_OPEN_ENDED if talks else _SHELLS | {"console"}).intersection(far)
    phrase = [word for word in near if word not in _NEUTRAL]
    before = [word for word in words[:at] if word not in _NEUTRAL]
    if talks and not phrase:
        return bool(where) or _names(before, _OPEN_ENDED - _COMMANDS)
    if talks:
        return bool(where) or (_names(phrase, things) and not far)  # not `send_command_to_robot`
    if phrase:
        return _names(phrase, things)
    return verb == "exec" or bool(where) or _names(before, things)


def _texts_of(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every parameter that takes any text, list or object, however deep it is, with its schema."""
    waiting = [schema]
    while waiting:
        held = waiting.pop()
        if isinstance(held, list | tuple):
            waiting.extend(held)
        if not isinstance(held, Mapping):
            continue
        waiting.extend(held.values())
        for group in ("properties", "patternProperties"):
            properties = held.get(group)
            for name, inner in properties.items() if isinstance(properties, Mapping) else ():
                if isinstance(inner, Mapping) and _takes_any_text(inner):
                    yield str(name), inner


def _takes_any_text(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema or "const" in schema:
        return False
    kinds = schema.get("type", "string")
    return bool({"string", "array", "object"}.intersection(kinds if isinstance(kinds, list | tuple) else [kinds]))


class _Said:
    """A tool's name and description, as far as they tell what becomes of its parameters."""

    def __init__(self, tool: CatalogueTool) -> None:
        words = _words(tool.name)
        self.looks, self.keeps = _begins(words, _LOOKS), _begins(words, _KEEPS)
        self.runs_things = _RUNS_THINGS.search(tool.description) is not None
        self.of_code = not (_CODE | _LANGUAGES).isdisjoint(_words(tool.description))
        self.has_no_object = any(word in _VERBS and _VERBS[word] != "start" for word in words) and all(
            word in _VERBS or word in _OBJECTS or word in _NEUTRAL
            for word in takewhile(lambda word: word not in _RELATIONS, words)
        )
        """`run` and `execute_in_page` run what a parameter names, `execute_payment` doesn't."""


def _takes_what_it_runs(name: str, schema: Mapping[str, Any], tool: _Said) -> bool:
    """Tell whether a parameter is a command line, or code that is run. Its own description counts before the tool."""
    words, described = _words(name), str(schema.get("description", ""))
    if _IS_RUN.search(described) or _RUNS_THINGS.search(described):
        return _REFERS.search(described) is None
    may_run = {"source", "function"}
    if tool.of_code or not (_CODE | _LANGUAGES).isdisjoint(_words(described)):
        may_run.add("expression")  # else it is one of arithmetic
    things = (_THINGS | may_run).intersection(words)
    whole = bool(things) and all(word in things or word in _VERBS or word in _NEUTRAL for word in words)  # not `country_code`
    if (whole and things.intersection(_COMMANDS | _SHELLS)) or words[-1:] in (["command"], ["commands"], ["cmd"]):
        if described and _RUN.search(described):
            return True
        return not (tool.looks or tool.keeps) and (not described or tool.runs_things)
    if whole and _TO_RUN.search(described):
        return _REFERS.search(described) is None
    if tool.looks or tool.keeps:
        return False
    carries = bool(words) and all(word in _CARRIERS or word in _NEUTRAL for word in words)
    return ((whole or carries) and tool.runs_things) or (whole and not described and tool.has_no_object)
