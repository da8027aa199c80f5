"""The optional language pack, for real: files of its languages are cut along their syntax once it is registered."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from carrel.index.index_opening import register_all
from carrel.model.errors import InvalidInput
from carrel.model.native import register_grammar

STEP = """\
sub step_{n} {{
    my ($self) = @_;
    my $text = <<TEXT;
Text of step {n} at the margin.
TEXT
    return $self->take($text);
}}
"""
PERL = "package Pool;\n\n" + "\n".join(STEP.format(n=n) for n in range(4))

SYMBOLS = """
import sys
from carrel.model.native import CutOptions, cut_text
from carrel.index.index_opening import register_all
if sys.argv[1] == "with":
    assert "perl" in register_all()
print({chunk.symbol: chunk.end_line - chunk.start_line + 1 for chunk in cut_text("pool.pl", sys.stdin.read(), CutOptions())})
"""

UNUSED = """
from carrel.model.native import registrable_grammars
from carrel.index import index_opening
index_opening.log.info = lambda _text, name, _error: print(name)
assert len(index_opening.register_all()) > 30
"""


def lines_of_symbols(how: str) -> dict[str, int]:
    # A process of its own: what was registered stays for good.
    done = subprocess.run([sys.executable, "-c", SYMBOLS, how], input=PERL, capture_output=True, text=True, check=True)
    return dict(ast.literal_eval(done.stdout))


def test_a_language_of_the_pack_is_cut_by_first_lines_and_indentation_without_it_and_by_its_syntax_with_it() -> None:
    without, with_it = lines_of_symbols("without"), lines_of_symbols("with")
    assert without["step_1"] < 7
    assert with_it["step_1"] == 7


def test_every_grammar_on_the_list_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", UNUSED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_what_is_no_grammar_or_not_on_the_list_is_refused() -> None:
    with pytest.raises(TypeError):
        register_grammar("perl", object())
    from tree_sitter_language_pack import get_binding  # noqa: PLC0415 - an optional extra

    with pytest.raises(InvalidInput, match="not on the list"):
        register_grammar("cobol", get_binding("cobol"))


def test_without_the_extra_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", None)
    register_all.cache_clear()
    try:
        assert register_all() == ()
    finally:
        register_all.cache_clear()
