"""What defines something is one named piece of whole lines, whatever holds it: another language, any dialect, a broken file."""

from __future__ import annotations

import pytest

from carrel.model.native import CutOptions, cut_text

FILLER = "".join(f"  <li>line {n} of the page, with a click on applyVoucher({n})</li>\n" for n in range(60))
SCRIPT = "function applyVoucher(line: Line) {\n  line.price -= line.voucher\n  return line.price\n}\n"
VUE = f'<template>\n{FILLER}</template>\n\n<script setup lang="ts">\n{SCRIPT}</script>\n'
ASTRO = f"---\n{SCRIPT}---\n<ul>\n{FILLER}</ul>\n"
ERB = f"<ul>\n{FILLER}</ul>\n<% def applyVoucher(line) %>\n  <b><%= line.price %></b>\n  <i>a voucher</i>\n<% end %>\n"
PHP = f"<?php function other() {{ return 'a value that is long'; }} ?>\n<ul>\n{FILLER}</ul>\n<script>\n{SCRIPT}</script>\n"
MYSQL = "DELIMITER //\nCREATE PROCEDURE applyVoucher(IN line INT)\nBEGIN\n  UPDATE lines SET price = 0;\nEND //\nDELIMITER ;\n"
BROKEN = """\
def broken(line):
    # The bracket below is never closed.
    return price((line


def applyVoucher(line):
    line.price -= line.voucher
    return line.price
"""
MAKE = """\
CFLAGS = -O2 -Wall -Wextra -Werror -Wshadow -fno-common

applyVoucher: prices.o lines.o
\t$(CC) -o $@ prices.o lines.o
\t./$@ --all --prices

other: prices.o
\t./prices --all --other --and=everything
"""


@pytest.mark.parametrize(
    ("name", "text", "first", "last"),
    [
        ("a.vue", VUE, "function applyVoucher", "}"),
        ("a.astro", ASTRO, "function applyVoucher", "}"),
        ("a.html.erb", ERB, "<% def applyVoucher", "<% end %>"),
        ("a.php", PHP, "function applyVoucher", "}"),
        ("a.sql", MYSQL, "CREATE PROCEDURE", "END //"),
        ("a.py", BROKEN, "def applyVoucher", "return line.price"),
        ("Makefile", MAKE, "applyVoucher:", "./$@ --all"),
    ],
)
def test_what_is_defined_in_a_file_of_any_form_is_one_named_piece(name: str, text: str, first: str, last: str) -> None:
    chunks = [chunk for chunk in cut_text(name, text, CutOptions()) if "applyVoucher" in chunk.definitions]
    assert [chunk.symbol for chunk in chunks] == ["applyVoucher"]
    lines = text.split("\n")[chunks[0].start_line - 1 : chunks[0].end_line]
    assert any(line.startswith(first) for line in lines[:3])
    assert any(line.lstrip().startswith(last) for line in lines[-3:])
    assert len(lines) < 12
