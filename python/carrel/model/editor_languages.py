"""The languages that editors name by LSP's identifiers, as Carrel names them."""

from __future__ import annotations

_EXTENSIONS = {
    "csharp": "cs",
    "elixir": "ex",
    "fsharp": "fs",
    "haskell": "hs",
    "javascript": "js",
    "javascriptreact": "jsx",
    "julia": "jl",
    "kotlin": "kt",
    "markdown": "md",
    "perl": "pl",
    "plaintext": "txt",
    "powershell": "ps1",
    "python": "py",
    "ruby": "rb",
    "rust": "rs",
    "shellscript": "sh",
    "typescript": "ts",
    "typescriptreact": "tsx",
}
"""Of LSP's language identifiers those that aren't an extension themselves."""


def extension_of(identifier: str) -> str:
    """Return the extension of the files that an editor calls so."""
    return _EXTENSIONS.get(identifier, identifier)


def language_of(identifier: str) -> str | None:
    """Return Carrel's name of a language that an editor calls so; None where it knows none."""
    from carrel.model.native import detect_language  # noqa: PLC0415 - a server starts without the core

    return detect_language(f"x.{extension_of(identifier)}")
