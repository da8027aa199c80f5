"""Tools that run any command line, script or code that is sent to them: by their names, and by what they take.

This is about what honest tools call themselves: a server that lies about a tool is kept off by the person's approval.
"""

# ruff: noqa: SIM905 - lists of words read best as text
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from carrel.model.catalogue_tool import CatalogueTool
from carrel.model.native import split_names

_ALONE = frozenset("sh bash zsh ksh powershell pwsh ssh sudo repl exec eval popen".split())
"""Words that say it wherever they stand."""
_LAST = frozenset("shell terminal command cmd console interpreter".split())
"""Words that say it at the end of a name."""
_OF_PARAMETERS = frozenset("command commands cmd shell".split())
"""Words that say it at the end of a parameter's name."""
_VERBS = frozenset(
    "run runs runner running execute execution executor evaluate interpret invoke spawn start launch write".split()
)
_THINGS = frozenset("command commands cmd shell terminal console script scripts code process python javascript js".split())
_WHOLE = frozenset(("rm", "dd", "system"))


def is_named_so(name: str) -> bool:
    """Tell whether the name of a tool says that it runs whatever it is given. No setting makes such a tool run."""
    words = split_names(name.rpartition("__")[2])
    if not _ALONE.isdisjoint(words) or not _LAST.isdisjoint(words[-1:]) or name.rpartition(".")[2].lower() in _WHOLE:
        return True
    return not _VERBS.isdisjoint(words) and not _THINGS.isdisjoint(words)


def runs_anything(tool: CatalogueTool) -> bool:
    """Tell whether a tool runs whatever it is given, or takes a command or code. Its own word makes it no less than dangerous."""
    return is_named_so(tool.name) or any(map(_is_code, _parameters(tool.schema)))


def _is_code(parameter: str) -> bool:
    words = split_names(parameter)
    return not _OF_PARAMETERS.isdisjoint(words[-1:]) or (bool(words) and _THINGS.issuperset(words))


def _parameters(schema: Any) -> Iterator[str]:
    """Give the names of all parameters, however deep they are."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, Mapping):
            waiting += part.values()
            for group in ("properties", "patternProperties"):
                if isinstance(properties := part.get(group), Mapping):
                    yield from map(str, properties)
