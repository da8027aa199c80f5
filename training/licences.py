"""Which packages may be learned from: permissive licences only, read from what the package itself carries."""

from __future__ import annotations

import json
import re
from pathlib import Path

ALLOWED = re.compile(
    r"\b(MIT(-0)?|Expat|X11|BSD[- 0-9A-Za-z]*|0BSD|Apache[- 0-9.A-Za-z]*|ISC|ISCL|PSF[-A-Za-z0-9.]*|Python-2\.0[.0-9]*|Python Software Foundation"
    r"|Zlib|Unlicense|CC0[-0-9.A-Za-z]*|Public Domain|BlueOak[-0-9.]*|Boost|BSL-1\.0|Unicode[-A-Za-z0-9.]*|BSD|Ruby|PHP[-0-9.]*|WTFPL|HPND|CNRI-Python|OpenSSL)\b",
    re.IGNORECASE,
)
REFUSED = re.compile(
    r"\b(A?L?GPL|GNU|MPL|Mozilla|EPL|Eclipse|CDDL|SSPL|BUSL|Business Source|Commons Clause|Elastic|proprietary|CC-BY-(NC|SA|ND))",
    re.IGNORECASE,
)
# Phrases that only the licence itself has, for packages that carry its text and no name.
TEXTS = (
    ("Apache-2.0", re.compile(r"Apache License,?\s+Version 2\.0|www\.apache\.org/licenses/LICENSE-2\.0", re.IGNORECASE)),
    ("MIT", re.compile(r"Permission is hereby granted, free of\s+charge, to any person obtaining", re.IGNORECASE)),
    ("ISC", re.compile(r"Permission to use, copy, modify, and(/or)? distribute this software", re.IGNORECASE)),
    ("BSD", re.compile(r"Redistribution and use in source and binary forms", re.IGNORECASE)),
)


def allowed(licence: str) -> bool:
    """Say whether one of the alternatives offered is permissive and none is forced that isn't."""
    for alternative in re.split(r"\s+OR\s+|/", licence, flags=re.IGNORECASE):
        if ALLOWED.search(alternative) and not REFUSED.search(alternative):
            return True
    return False


def from_text(folder: Path) -> str:
    """Recognise a licence file, or the head of the first sources."""
    files = [
        f
        for pattern in ("LICEN[CS]E*", "COPYING*", "*/LICEN[CS]E*", "META-INF/LICEN[CS]E*", "*/META-INF/LICEN[CS]E*")
        for f in sorted(folder.glob(pattern))
    ]
    files += sorted(folder.rglob("*.java"))[:3] + sorted(folder.rglob("*.kt"))[:3] + sorted(folder.rglob("*.scala"))[:3]
    for file in files:
        if file.is_file():
            text = file.read_text(errors="replace")[:6000]
            if re.search(r"GNU (LESSER |AFFERO )?GENERAL PUBLIC|Mozilla Public|Eclipse Public", text, re.IGNORECASE):
                return "copyleft"
            for name, pattern in TEXTS:
                if pattern.search(text):
                    return name
    return ""


def from_wheel(folder: Path) -> str:
    """Return the licence that a wheel's metadata names."""
    for metadata in folder.glob("*.dist-info/METADATA"):
        head = metadata.read_text(errors="replace").split("\n\n", 1)[0]
        found = re.findall(
            r"^(?:License-Expression: (.+)|Classifier: License :: (?:OSI Approved :: )?(.+)|License: (.{1,60}))$",
            head,
            re.MULTILINE,
        )
        named = [expression or classifier or plain for expression, classifier, plain in found]
        if named:
            return " AND ".join(dict.fromkeys(named)) if any(REFUSED.search(n) for n in named) else named[0]
    return ""


def from_debian(folder: Path) -> str:
    """Return the licences of a Debian package's copyright file; packaging (debian/*) paragraphs don't count."""
    files = sorted(folder.glob("usr/share/doc/*/copyright")) + sorted(folder.glob("debian/copyright"))
    for file in files:
        text = file.read_text(errors="replace")
        paragraphs = [
            p
            for p in re.split(r"\n\s*\n", text)
            if re.search(r"^Files:", p, re.MULTILINE) and not re.search(r"^Files:\s*debian", p, re.MULTILINE)
        ]
        named = re.findall(r"^License:\s*(\S.*)$", "\n".join(paragraphs), re.MULTILINE)
        if named:
            return " AND ".join(dict.fromkeys(name.strip() for name in named))
        for name, pattern in TEXTS:
            if pattern.search(text) and not re.search(r"GNU (LESSER )?GENERAL PUBLIC|\bL?GPL", text):
                return name
    return ""


def licence_of_folder(registry: str, folder: Path) -> str:
    """Return the licence as an SPDX-like string, or nothing."""
    named = ""
    if registry == "pypi":
        named = from_wheel(folder)
    elif registry == "npm":
        try:
            value = json.loads((folder / "package" / "package.json").read_text(errors="replace")).get("license", "")
            named = value.get("type", "") if isinstance(value, dict) else str(value)
        except (OSError, ValueError):
            named = ""
    elif registry == "crates" and (folder / "Cargo.toml").exists():
        match = re.search(r'^license\s*=\s*"(.+)"', (folder / "Cargo.toml").read_text(errors="replace"), re.MULTILINE)
        named = match.group(1) if match else ""
    elif registry.startswith("debian"):
        named = from_debian(folder)
    return named or from_text(folder)
