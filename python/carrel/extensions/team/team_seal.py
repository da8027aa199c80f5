"""Keys and values of the team's cache, as whoever keeps them sees them: hashes and bytes that say nothing without the secret.

A key is an HMAC of what the cache on this machine is asked by: the hash of model, size and text. A value is encrypted and
authenticated (AES-GCM) together with its key. Without the secret nobody can tell which texts are there, read a vector, put one
there that is believed, or give one in another's place. Needs the extra `team`.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from carrel.model.errors import InvalidInput, StoreError
from carrel.model.installation import how_to_install
from carrel.model.outbound import Secret

KEY_BYTES = 16
LEAST_SECRET = 32
"""Characters. Whoever keeps the values can try secrets as fast as they like, so it must not be one that a person made up."""
CHECK_KEY = hashlib.sha256(b"carrel team cache: which secret").digest()[:KEY_BYTES]
"""The same for every secret: what is there tells a wrong one from an empty cache."""
_CHECK = b"carrel"
_NONCE_BYTES = 12
HOW_TO_MAKE_ONE = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"'


class TeamSeal:
    """What one team secret makes of keys and values."""

    def __init__(self, secret: Secret) -> None:
        """Raise `InvalidInput` for a secret that could be guessed, and `StoreError` where the package is missing."""
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra
        except ImportError:
            raise StoreError(
                "The team's cache needs a package that isn't installed", f"Install it: {how_to_install('team')}"
            ) from None
        value = secret.reveal().encode()
        if len(value) < LEAST_SECRET:
            raise InvalidInput("team.secret", f"has fewer than {LEAST_SECRET} characters, and could be guessed", HOW_TO_MAKE_ONE)
        self._naming = hmac.digest(value, b"carrel team cache 1: keys", "sha256")
        self._cipher = AESGCM(hmac.digest(value, b"carrel team cache 1: values", "sha256"))

    def key(self, local: bytes) -> bytes:
        """Return the key of a value that the cache on this machine has by `local`."""
        return hmac.digest(self._naming, local, "sha256")[:KEY_BYTES]

    def seal(self, key: bytes, value: bytes) -> bytes:
        """Return a value as it is kept."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, value, key)

    def unseal(self, key: bytes, sealed: bytes) -> bytes | None:
        """Return a value; None for one that wasn't sealed with this secret for this key."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], key)
        except (InvalidTag, ValueError):
            return None

    def check_value(self) -> bytes:
        """Return what is kept by `CHECK_KEY`."""
        return self.seal(CHECK_KEY, _CHECK)

    def made(self, check_value: bytes) -> bool:
        """Tell whether this secret made a check value."""
        return self.unseal(CHECK_KEY, check_value) == _CHECK
