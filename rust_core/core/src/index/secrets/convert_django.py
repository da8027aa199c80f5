"""Gather what other languages call a password: `python convert_django.py DJANGO VERSION`, with the package's folder.

The source is Django's translations (BSD, `django-LICENSE`). The core adds the forms that names have (`mot_de_passe`).
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from pathlib import Path

# What rules of the core know: English and German.
OWN = {"", "password", "passwort"}
WORD = re.compile(r'^msgid "[Pp]assword"\nmsgstr "(.*)"$', re.MULTILINE)


def main() -> None:
    """Write `password_words.json` beside this file."""
    source, version = sys.argv[1:]
    catalogues = Path(source).glob("contrib/auth/locale/*/LC_MESSAGES/django.po")
    words = {word.strip().lower() for path in catalogues for word in WORD.findall(path.read_text("utf-8"))}
    words |= {plain for word in words if (plain := _without_accents(word)).isascii()}
    found = {"source": "https://github.com/django/django", "version": version, "words": sorted(words - OWN)}
    text = json.dumps(found, indent=1, ensure_ascii=False)
    Path(__file__).with_name("password_words.json").write_text(text + "\n", "utf-8")


def _without_accents(word: str) -> str:
    """Write a word as names of programs have it: `contrasena`."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))


if __name__ == "__main__":
    main()
