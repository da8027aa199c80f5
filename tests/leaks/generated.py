"""Secrets in every form in which a language or a document gives a value to a name; drawn anew from a seed.

The forms of languages are data (`bindings.json`), taken from the grammars' corpora and not from Carrel's rules.
"""

# ruff: noqa: E501, SIM905 - lists of words

from __future__ import annotations

import json
import random
import string
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
LETTERS_AND_DIGITS = string.ascii_letters + string.digits
WORDS = (
    "harbor falcon berlin summer winter tiger copper meadow company monkey dragon sunshine purple coffee silver garden orange thunder "
    "rocket planet anchor velvet canyon maple raven"
).split()
ENDINGS = dict(
    pair.split(":")
    for pair in (
        "bash:sh c:c c-sharp:cs cpp:cpp css:scss elixir:ex go:go haskell:hs html:html java:java javascript:js json:json kotlin:kt lua:lua "
        "php:php python:py ruby:rb rust:rs scala:scala sql:sql swift:swift toml:toml typescript:ts yaml:yaml zig:zig"
    ).split()
)
NAMES = {
    "password": ["db password", "password", "admin password", "smtp passwd", "user pwd", "passphrase", "root password"],
    "token": ["api key", "access token", "client secret", "stripe secret key", "auth token", "jwt secret", "private key"],
}
LABELS = {
    "password": ["Password", "password", "DB password", "Admin password", "Root Password"],
    "token": ["API key", "Access token", "api_key", "client_secret", "Secret key", "Token"],
}
DOCUMENTS: dict[str, list[str]] = {
    "table.md": [
        "| what | value |\n| --- | --- |\n| user | svc |\n| {label} | {value} |\n",
        "| user | {label} |\n|---|---|\n| svc | {value} |\n| b | x |\n",
        "|{label}|{value}|\n",
        "| {label} | `{value}` | rotated in May |\n",
    ],
    "text.md": ["# Log in\n\n{label}: {value}\n", "Use **{label}:** `{value}` for now.\n", "- {label}: `{value}`\n"],
    "code.md": [
        '```python\nlogin(user="svc", {name}="{value}")\n```\n',
        "```yaml\n{name}: {value}\n```\n",
        "```sh\nexport {NAME}={value}\n```\n",
        "Run it with `{NAME}={value} ./run`.\n",
    ],
    "page.html": [
        "<table><tr><td>{label}</td><td>{value}</td></tr></table>\n",
        "<table>\n<tr><th>user</th><th>{label}</th></tr>\n<tr><td>svc</td><td>{value}</td></tr>\n</table>\n",
        "<dl><dt>{label}</dt><dd>{value}</dd></dl>\n",
        "<p><b>{label}:</b> <code>{value}</code></p>\n",
        '<tr><th scope="row">{label}</th><td class="x">{value}</td></tr>\n',
    ],
    "logins.csv": [
        "url,username,{label},note\nhttps://a.invalid,svc,{value},x\nhttps://b.invalid,svc,{value},y\n",
        '"url","username","{label}"\n"https://a.invalid","svc","{value}"\n',
        "user;{label}\nsvc;{value}\n",
        "name,value\n{label},{value}\n",
    ],
    "logins.tsv": ["user\t{label}\nsvc\t{value}\n", "{label}\t{value}\n"],
    "text.rst": [
        "============  ==============\nuser          svc\n{label}      {value}\n============  ==============\n",
        "+------+------+\n| user | {label} |\n+======+======+\n| svc | {value} |\n+------+------+\n",
        ":{label}: {value}\n",
        "``{NAME}={value}``\n",
    ],
    "text.adoc": ["|===\n|user |svc\n|{label} |{value}\n|===\n", "{label}:: {value}\n", "*{label}*: `{value}`\n"],
    "text.org": ["| user | {label} |\n|------+------|\n| svc | {value} |\n", "- {label} :: {value}\n"],
    "text.txt": [
        "user: svc\n{label}: {value}\n",
        "{label} = {value}\n",
        "user        svc\n{label}    {value}\n",
        "{label}\t{value}\n",
        "Nobody opens it alone. The {label} of the gate is {value}.\n",
        "{label} for the gate (staging): {value}\n",
    ],
    "cells.ipynb": [
        '{{"cells": [{{"cell_type": "code", "source": ["{name} = \\"{value}\\"\\n"], "metadata": {{}}, "outputs": []}}]}}\n',
        '{{"cells": [{{"cell_type": "markdown", "source": ["{label}: {value}\\n"], "metadata": {{}}}}]}}\n',
    ],
    "data.xml": [
        "<{name}>{value}</{name}>\n",
        '<entry name="{name}" value="{value}"/>\n',
        '<property name="{name}"><value>{value}</value></property>\n',
    ],
    "run.log": ["2026-01-01 INFO login user=svc {name}={value}\n", "connect {label}: {value}\n"],
    "Pulumi.prod.yaml": ["config:\n  app:{name}: {value}\n"],
    "env.php": ["<?php return ['db' => ['{name}' => '{value}']];\n", "<?php class C {{ public ${name} = '{value}'; }}\n"],
    "app.properties": ["{name}={value}\n", "{name} = {value}\n"],
    "app.ini": ["[db]\n{name} = {value}\n", "[db]\n{name}: {value}\n"],
    "beside.py": [
        'user, {name} = "svc", "{value}"\n',
        'if "{value}" == {name}:\n    pass\n',
        "x = call()  # {name}: {value}\n",
        'CONFIG = """\nuser = svc\n{name} = {value}\n"""\n',
        'print("{name}: {value}")\n',
    ],
    "beside.go": ['user, {name} := "svc", "{value}"\n', "const conf = `\nuser: svc\n{name}: {value}\n`\n"],
    "beside.js": ['const [user, {name}] = ["svc", "{value}"];\n'],
    "beside.xml": ['<property value="{value}" name="{name}"/>\n', "<data>{{&quot;{name}&quot;: &quot;{value}&quot;}}</data>\n"],
    "rows.sql": [
        "INSERT INTO users (id, name, {name}) VALUES\n(1, 'a', 'b'),\n(2, 'svc', '{value}');\n",
        "COPY users (name, {name}) FROM stdin;\nsvc\t{value}\n\\.\n",
    ],
    "nested.json": ['{{"body": "{{\\"inner\\": \\"{{\\\\\\"{name}\\\\\\": \\\\\\"{value}\\\\\\"}}\\"}}"}}\n'],
    "heredoc.rb": ["CONFIG = <<~YAML\n  user: svc\n  {name}: {value}\nYAML\n"],
    "below.md": ["{label}:\n\n    {value}\n", "# {label}\n\n`{value}`\n"],
    "CMakeLists.txt": ['set({NAME} "{value}")\n'],
}

LISTS: dict[str, list[str]] = {
    "list.yaml": [
        "{names}:\n  - {first}\n  - {second}\n",
        'app:\n  {names}:\n  - "{first}"\n  - "{second}"  # old\nname: x\n',
        "{names}:\n  # of the gate\n  alice: {first}\n  bob: {second}\nname: x\n",
    ],
    "list.json": [
        '{{"{names}": ["{first}", "{second}"], "n": 1}}\n',
        '{{\n  "{names}": [\n    "{first}",\n    "{second}"\n  ]\n}}\n',
        '{{"{names}": {{"alice": "{first}", "bob": "{second}"}}}}\n',
    ],
    "list.toml": ['{names} = [\n  "{first}",\n  "{second}",\n]\n'],
    "list.py": [
        'def load():\n    {names} = ["{first}", "{second}"]\n',
        '{NAMES} = (\n    "{first}",  # of alice\n    "{second}",\n)\n',
        '{names} = {{"{first}", "{second}"}}\n',
        '{NAMES} = {{"alice": "{first}", "bob": "{second}"}}\n',
    ],
    "list.ts": ["const {names}: string[] = ['{first}', '{second}'];\n", 'const {names} = new Set(["{first}", "{second}"]);\n'],
    "list.go": [
        'var {names} = []string{{"{first}", "{second}"}}\n',
        '{names} := map[string]string{{"a": "{first}", "b": "{second}"}}\n',
    ],
    "List.java": ['String[] {names} = {{"{first}", "{second}"}};\n', 'List<String> {names} = List.of("{first}", "{second}");\n'],
    "list.rs": ['const {NAMES}: &[&str] = &["{first}", "{second}"];\n', 'let {names} = vec!["{first}", "{second}"];\n'],
    "list.kt": ['val {names} = listOf("{first}", "{second}")\n'],
    "list.php": ["<?php ${names} = ['{first}', '{second}'];\n"],
    "list.rb": ["{NAMES} = ['{first}', '{second}'].freeze\n"],
    "list.sh": ["{NAMES}=('{first}' '{second}')\n"],
    "list.xml": ["<{names}>\n  <item>{first}</item>\n  <item n='2'>{second}</item>\n</{names}>\n"],
    "list.md": ["Some {label}s:\n\n- {first}\n- `{second}`\n"],
}
"""Values of a name in the plural."""


@dataclass(frozen=True)
class Bound:
    """A file whose text gives a secret to a name."""

    path: str
    text: str
    secret: str
    kind: str


class Generator:
    """Draws secrets and writes them down."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - drawn again from the same seed
        self._kinds: dict[str, tuple[Callable[[], str], str]] = {
            "person": (self._person, "password"),
            "random": (self._password, "password"),
            "letters": (lambda: self._chars(14, string.ascii_letters), "password"),
            "token": (lambda: self._chars(self._random.randrange(24, 44)), "token"),
            "hex": (lambda: self._chars(self._random.choice([16, 20, 24, 32, 40, 64]), "0123456789abcdef"), "token"),
        }

    def languages(self, each: int) -> Iterator[Bound]:
        """Give so many secrets of each kind in each form of each language."""
        forms: dict[str, list[str]] = json.loads((HERE / "bindings.json").read_text("utf-8"))["forms"]
        for language, of_language in forms.items():
            for form in of_language:
                for _ in range(each):
                    yield from self._written(f"{language}.{ENDINGS[language]}", form + "\n")

    def documents(self, each: int) -> Iterator[Bound]:
        """Give so many secrets of each kind in each form of each document."""
        for path, forms in DOCUMENTS.items():
            for form in forms:
                for _ in range(each):
                    yield from self._written(path, form)

    def lists(self, each: int) -> Iterator[Bound]:
        """Give so many pairs of secrets of each kind in each form of a list or map."""
        for path, form in [(path, form) for path, forms in LISTS.items() for form in forms] * each:
            for kind, (draw, what) in self._kinds.items():
                first, second = draw(), draw()
                name, label = self._random.choice(NAMES[what]).replace(" ", "_") + "s", self._random.choice(LABELS[what])
                text = form.format(names=name, NAMES=name.upper(), label=label, first=first, second=second)
                yield from (Bound(path, text, secret, kind) for secret in (first, second))

    def _written(self, path: str, form: str) -> Iterator[Bound]:
        for kind, (draw, what) in self._kinds.items():
            secret, words = draw(), self._random.choice(NAMES[what]).split()
            title = "".join(word.title() for word in words)
            names = {
                "NAME": "_".join(words).upper(),
                "name": self._random.choice(["_".join(words), words[0] + title[len(words[0]) :]]),
                "Name": self._random.choice([title, words[0] + title[len(words[0]) :]]),
                "Title": title,
                "label": self._random.choice(LABELS[what]),
            }
            yield Bound(path, form.format(value=secret, **names), secret, kind)

    def _chars(self, length: int, alphabet: str = LETTERS_AND_DIGITS) -> str:
        return "".join(self._random.choice(alphabet) for _ in range(length))

    def _password(self) -> str:
        return self._chars(self._random.randrange(8, 16), LETTERS_AND_DIGITS + "!#+@*") + self._chars(1, string.digits) + "!"

    def _person(self) -> str:
        """Draw what a person chooses: words, a number, a sign."""
        word, other = self._random.choice(WORDS), self._random.choice(WORDS)
        digits, sign = self._chars(4, string.digits), self._random.choice("!@#*+")
        return self._random.choice(
            [
                f"{word.title()}-{other}{digits[:2]}{sign}",
                f"{word.title()}@{digits}",
                f"{word.title()}-{digits}{sign}",
                f"{word.title()}{digits[:2]}",
                f"{word.title()}-{other.title()}{digits[:1]}",
                f"{word}{other.title()}{sign}{digits[:3]}",
                f"{word}{digits}",
            ]
        )


def harmless(seed: str, count: int) -> Iterator[tuple[str, str]]:
    """Give (path, line) of constants that are no secrets: colours, hashes, UUIDs, versions, identifiers, placeholders."""
    draw = random.Random(seed)  # noqa: S311

    def hexed(length: int) -> str:
        return "".join(draw.choice("0123456789abcdef") for _ in range(length))

    def word() -> str:
        return draw.choice(WORDS)

    forms: list[Callable[[], tuple[str, str]]] = [
        lambda: ("a.scss", f"$accent-{word()}: #{hexed(6)};"),
        lambda: ("a.ts", f"const background{word().title()} = '#{hexed(8)}';"),
        lambda: ("a.py", f'SHA256 = "{hexed(64)}"'),
        lambda: ("a.toml", f'checksum = "{hexed(64)}"'),
        lambda: ("a.json", f'"integrity": "sha512-{hexed(80)}=="'),
        lambda: ("a.java", f'UUID id = UUID.fromString("{hexed(8)}-{hexed(4)}-{hexed(4)}-{hexed(4)}-{hexed(12)}");'),
        lambda: ("a.go", f'commit := "{hexed(40)}"'),
        lambda: ("a.rs", f'const VERSION: &str = "{draw.randrange(9)}.{draw.randrange(30)}.{draw.randrange(99)}";'),
        lambda: ("a.kt", f'private const val KEY_{word().upper()} = "key_{word()}_{word()}"'),
        lambda: ("a.cs", f'public const string PrimaryKey = "{word()}_{word()}_id";'),
        lambda: ("a.py", f'password_field = "{word()}_password"'),
        lambda: ("a.ts", f"tokenType: '{word()}-token',"),
        lambda: ("a.js", f"const keyCode{draw.randrange(99)} = '{word()}Key{draw.randrange(9)}';"),
        lambda: ("a.yaml", f"password: ${{{word().upper()}_PASSWORD}}"),
        lambda: ("a.py", f'password = os.environ["{word().upper()}_PASSWORD"]'),
        lambda: ("a.ts", f"const tokenUrl = 'https://{word()}.example.org/oauth/token/{hexed(8)}';"),
        lambda: ("a.go", f'PasswordHelp = "Type the password of {word()}, {draw.randrange(8, 64)} characters at least"'),
        lambda: ("a.md", f"| password | string | The password of {word()} |"),
        lambda: ("a.sql", f"password VARCHAR({draw.randrange(16, 255)}) NOT NULL,"),
        lambda: ("a.java", f'@JsonProperty("{word()}Password") private String password;'),
        lambda: ("a.html", f'<input type="password" name="password" id="{word()}-{draw.randrange(99)}" class="form-{word()}2">'),
        lambda: ("a.swift", f'let cacheKey = "{word()}.{word()}.v{draw.randrange(20)}"'),
        lambda: ("a.rb", f"validates :password, length: {{ minimum: {draw.randrange(6, 20)} }}"),
        lambda: ("a.c", f'#define PASSWORD_PROMPT "Password for {word()}: "'),
        lambda: ("a.php", f"$secretName = '{word()}-{word()}';"),
        lambda: ("a.py", f'tokens = ["{word()}", "{word().upper()}_LITERAL", "{draw.randrange(99)}"]'),
        lambda: ("a.json", f'"tokens": {{"accent": "#{hexed(6)}", "{word()}": "#{hexed(8)}"}}'),
        lambda: ("a.ts", f"const passwords = [{word()}Password, form.{word()}, 'new-password'];"),
        lambda: ("a.yaml", f"secrets: [{word()}-tls, {word()}-{word()}-v2]"),
    ]
    for number in range(count):
        yield forms[number % len(forms)]()


def seed_of_commit() -> str:
    """Return the commit's hash, so that each commit tries other values; a fixed text without git."""
    command = ["git", "-C", str(HERE), "rev-parse", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "no commit"
