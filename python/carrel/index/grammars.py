"""More languages cut along their syntax: the grammars of the optional extra `languages`."""

from __future__ import annotations

import logging
from functools import lru_cache

from carrel.model.errors import InvalidInput
from carrel.model.native import register_grammar, registrable_grammars

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def register_all() -> tuple[str, ...]:
    """Hand the language pack's grammars to the core, once a process; the languages that have one now. None without the extra.

    A grammar that can't be used is logged and left out: its files are cut by lines, as they are without the extra.
    """
    try:
        from tree_sitter_language_pack import get_binding  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError:
        return ()
    registered = []
    for name in registrable_grammars():
        try:
            binding = get_binding(name)  # type: ignore[arg-type,unused-ignore]
            registered.append(register_grammar(name, binding))
        except (LookupError, ImportError, OSError, InvalidInput) as error:
            log.info("The language pack's grammar %s is not used: %s", name, error)
    return tuple(registered)
