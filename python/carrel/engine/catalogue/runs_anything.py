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

from carrel.core.catalogue_tool import CatalogueTool

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
    "sh bash zsh fish ksh csh dash shell powershell pwsh cmd terminal tty repl ssh sudo subprocess applescript osascript".split()
)
_LANGUAGES = frozenset("python python3 py javascript js jxa typescript nodejs deno ruby perl php lua groovy vbscript".split())
_COMMANDS = frozenset("command commands cmds commandline cmdline argv".split())
_PROGRAMS = frozenset("process subprocess program executable binary".split())
_CODE = frozenset("code script scripts snippet".split())
_THINGS = _SHELLS | _LANGUAGES | _COMMANDS | _PROGRAMS | _CODE
_STRONG = _SHELLS | _LANGUAGES | _COMMANDS | {"exec", "execute", "eval", "interpreter", "popen"}
"""A name of such words, verbs and things alone is enough where one of these is among them."""
_WHOLE = ("rm", "dd", "system")
"""Names that say it as they are, and nothing as parts of others."""
_TALKS = frozenset("send write type enter".split())
_OPEN_ENDED = frozenset("terminal tty repl shell console stdin command commands cmd".split())
"""Words for programs that run any text that is sent to them."""
_RELATIONS = frozenset("in into on inside at with without from for to by as via through and then or over using".split())
_NEUTRAL = frozenset(
    "tool tools mcp server the a any arbitrary line lines session string text block cell file async sync batch background "
    "sandbox sandboxed remote local unsafe safe raw simple input stdin interactive container pod docker vm "
    "host device system os".split()
)
"""Words that leave it as it is what is run."""
_LOOKS = frozenset(
    "get list describe show find search read fetch count view watch wait poll lookup explain help parse check validate lint "
    "format analyze analyse review complete suggest delete remove cancel stop kill close clear focus resize rename".split()
)
"""First words of what looks at commands or code, or ends what runs."""
_KEEPS = frozenset("save create add edit update generate set".split())
"""First words of what keeps commands or code."""

_TO_RUN = re.compile(r"\b(?:to|be|is|are|and|gets?)\s+(?:run\b|execut|evaluat|interpret|spawn|invoke)", re.IGNORECASE)
_RUN = re.compile(r"\b(?:execut|evaluat|spawn|run\b|runs\b|running\b|invoke)", re.IGNORECASE)
_RUNS_THINGS = re.compile(
    r"\b(?:execut|evaluat|interpret|spawn|run\b|runs\b|invoke)\w*\s+(?:(?!(?:with|by|for|of|using|from)\b)[^\s.]+\s+){0,4}?"
    r"(?:commands?|shell|bash|terminal|scripts?|code|javascript|python|programs?)\b",
    re.IGNORECASE,
)


def runs_anything(tool: CatalogueTool) -> bool:
    """Tell whether a tool runs whatever it is given, by its name or by what it takes."""
    return is_named_so(tool.name) or any(_takes_what_it_runs(name, schema, tool) for name, schema in _texts_of(tool.schema))


def is_named_so(name: str) -> bool:
    """Tell whether the name of a tool says that it runs whatever it is given."""
    return _says_so(_words(name)) or _says_so(_words(re.split(r"__|[./:]", name)[-1]))


def _words(name: str) -> list[str]:
    """Return the words of a name, however they are joined; two that are written as one come apart."""
    name = re.sub(r"(Power|Java|Apple|Type)S(?=hell|cript)", r"\1s", name)
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+", " ", name).lower().split()
    bare = (word if word in _THINGS else word.rstrip("0123456789") for word in parted)
    return [part for word in bare if word not in ("", "v") for part in _apart(word)]


def _apart(word: str) -> tuple[str, ...]:
    if word not in _VERBS and word not in _THINGS and word not in _NEUTRAL:
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
    last = [word for word in words if word not in _NEUTRAL][-1:]
    return bool(_SHELLS.intersection(last)) or any(_acts_at(words, at) for at in range(len(words)))


def _begins(words: list[str], verbs: frozenset[str]) -> bool:
    """Tell whether a name begins with one of these verbs, and goes on with no other."""
    return bool(words) and words[0] in verbs and not {"and", "then"}.intersection(words)


def _acts_at(words: list[str], at: int) -> bool:
    """Tell whether the word at this place is a verb whose object, before it or behind it, is a command, a script or code."""
    verb, talks = _VERBS.get(words[at]), words[at] in _TALKS
    if verb is None and not talks:
        return False
    things = _OPEN_ENDED if talks else _SHELLS | _PROGRAMS if verb == "start" else _THINGS
    behind = words[at + 1 :]
    near = list(takewhile(lambda word: word not in _RELATIONS, behind))
    where = (_OPEN_ENDED if talks else _SHELLS).intersection(behind[len(near) + 1 :])
    phrase = [word for word in near if word not in _NEUTRAL]
    if phrase:
        return phrase[-1] in things or bool(talks and where)  # by its last word: `run_python_code`, not `run_code_review`
    before = [word for word in words[:at] if word not in _NEUTRAL]
    return verb == "exec" or bool(where) or bool(before and before[-1] in things)


def _texts_of(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every parameter that takes any text or list of texts, however deep it is, with its schema."""
    waiting = [schema]
    while waiting:
        held = waiting.pop()
        if isinstance(held, list | tuple):
            waiting.extend(held)
        if not isinstance(held, Mapping):
            continue
        waiting.extend(held.values())
        properties = held.get("properties")
        for name, inner in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(inner, Mapping) and _takes_any_text(inner):
                yield str(name), inner


def _takes_any_text(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema or "const" in schema:
        return False
    kinds = schema.get("type", "string")
    return bool({"string", "array"}.intersection(kinds if isinstance(kinds, list | tuple) else [kinds]))


def _takes_what_it_runs(name: str, schema: Mapping[str, Any], tool: CatalogueTool) -> bool:
    """Tell whether a parameter is a command line, or code that is run."""
    words, of_tool, described = _words(name), _words(tool.name), str(schema.get("description", ""))
    may_run = {"source", "function"}
    if not (_CODE | _LANGUAGES).isdisjoint(_words(f"{described} {tool.description}")):
        may_run.add("expression")  # else it is one of arithmetic
    things = (_THINGS | may_run).intersection(words)
    if not things or not all(word in things or word in _VERBS or word in _NEUTRAL for word in words):
        return False  # `country_code`, `command_id`
    if _begins(of_tool, _LOOKS):
        return False
    if things.intersection(_COMMANDS | _SHELLS):
        return _RUN.search(described) is not None or not (described or _begins(of_tool, _KEEPS))
    if _TO_RUN.search(described):
        return re.search(r"\b(?:name|id)\b", described, re.IGNORECASE) is None  # one that is there already
    if _begins(of_tool, _KEEPS):
        return False
    return _RUNS_THINGS.search(tool.description) is not None or (not described and any(word in _VERBS for word in of_tool))
