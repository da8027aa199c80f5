"""Reduce gitleaks' rules (MIT, `gitleaks-LICENSE`) to what the core needs: `python convert_gitleaks.py gitleaks.toml COMMIT`.

Left out: rules that the core has of its own because they look at more than one line or at the language (private keys,
Kubernetes secrets, assignments of generic names), rules for whole files, and identifiers that are public by design.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

OWN = {"generic-api-key", "private-key", "kubernetes-secret-yaml", "hashicorp-tf-password", "nuget-config-password"}
PUBLIC = re.compile(r"client-id$|-pub(lic)?-key$|-pub-|access-id$")
# Short keywords that stand in most files; what the token really begins with costs nothing to look for.
KEYWORDS = {"twilio-api-key": ["SK"], "jwt": ["eyJ"], "jwt-base64": ["ZXlK"], "vault-service-token": ["hvs."]}
LEADING_NAME = r"[\w.-]{0,50}?"
# A token ends where another character stands, whichever: `see token, then` and `(token)` end it too.
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
ANY_END = r"(?:[^\w/+=-]|$)"


def main() -> None:
    """Write `gitleaks.json` beside this file."""
    source, commit = sys.argv[1:]
    rules = []
    for rule in tomllib.loads(Path(source).read_text("utf-8"))["rules"]:
        if rule["id"] in OWN or PUBLIC.search(rule["id"]) or not rule.get("regex") or rule["id"] == "pkcs12-file":
            continue
        pattern = rule["regex"]
        # What stands before the keyword in an identifier says nothing, and a search may begin at the keyword then.
        named = pattern.startswith(("(?i)" + LEADING_NAME, LEADING_NAME))
        pattern = pattern.replace(LEADING_NAME, "", 1) if named else pattern
        pattern = pattern.replace(END, ANY_END)
        rules.append(
            {
                "id": rule["id"],
                "regex": pattern,
                "entropy": rule.get("entropy", 0),
                "group": rule.get("secretGroup", 0),
                "keywords": KEYWORDS.get(rule["id"]) or [_as_written(word, pattern) for word in rule["keywords"]],
                "named": named,
            }
        )
    text = json.dumps({"source": "https://github.com/gitleaks/gitleaks", "commit": commit, "rules": rules}, indent=1)
    Path(__file__).with_name("gitleaks.json").write_text(text + "\n", "utf-8")


def _as_written(word: str, pattern: str) -> str:
    """Return the keyword in the case that the pattern demands; small letters, which stand for any case, where it demands none."""
    at = pattern.lower().find(word)
    demanded = at >= 0 and "(?i" not in pattern[:at]
    return pattern[at : at + len(word)] if demanded else word


if __name__ == "__main__":
    main()
