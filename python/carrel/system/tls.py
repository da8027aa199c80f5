"""Say why a server's certificate wasn't taken: what is wrong with it, and what mends that."""

from __future__ import annotations

import ssl

from carrel.model.errors import ProviderError

TRUST_IT = "Have SSL_CERT_FILE name the certificate of the authority that signed it."
_RENAME = "Ask for it by the name that its certificate is for, or have one made for this name."
_RENEW = "Have it renewed, and check the clock of this machine."
_REMEDIES = {62: _RENAME, 64: _RENAME, 9: _RENEW, 10: _RENEW}
"""By OpenSSL's numbers: another name or address than the certificate is for; not valid yet, or no more."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


def tls_problem(error: BaseException, who: str) -> ProviderError | None:
    """Return what is told of `who` where a connection failed for its encryption; None where it failed for anything else."""
    cause = _ssl_error(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _untrusted(who, f" ({cause.verify_message.rstrip('.')})", _REMEDIES.get(cause.verify_code, TRUST_IT))
    if cause is not None and any(name in str(cause).upper() for name in _NO_TLS):
        return ProviderError(f"{who} answers without encryption", "Switch TLS on there, or check the port of its URL.")
    return None


def _untrusted(who: str, why: str, remedy: str) -> ProviderError:
    return ProviderError(f"{who} shows a certificate that isn't trusted{why}", remedy)


def _ssl_error(error: BaseException) -> ssl.SSLError | None:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None or isinstance(seen, ssl.SSLError):
            return seen
        # The client of Qdrant's package names it `source`.
        source = getattr(seen, "source", None)
        seen = source if isinstance(source, BaseException) else seen.__cause__ or seen.__context__
    return None
