"""An authority of one's own, and certificates that it signs."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey


class Authority:
    """Signs certificates; `file` is its own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = _named("An authority of one's own")
        builder = _begun(self._name, self._name, self._key, days=30)
        made = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def certificate(self, host: str = "127.0.0.1", *, days: int = 30) -> Path:
        """Make the certificate of a host, with its key beside it (`.key`); one of negative days has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
        builder = _begun(_named(host), self._name, key, days=days)
        builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
        file = self._folder / f"{host}{days}.pem"
        file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file.with_suffix(".key").write_bytes(key.private_bytes(*form))
        return file


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begun(subject: x509.Name, issuer: x509.Name, key: Key, *, days: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    begin, end = sorted((now - datetime.timedelta(days=1), now + datetime.timedelta(days=days)))
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return builder.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)
