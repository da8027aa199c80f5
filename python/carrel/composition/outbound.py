"""Make what stands between remote services and the network: permission, keys and limits, one set for a process."""

# ruff: noqa: PLC0415 - most processes ask no remote service
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from carrel.model.outbound import Outbound, Secret
from carrel.policy.permissions import PermissionFile

if TYPE_CHECKING:
    from carrel.policy.audit import AuditTrail
    from carrel.policy.usage import Limits, UsageMeter
    from carrel.providers.keys import StandardKeys
    from carrel.settings.settings import Settings


def usage_file() -> Path:
    """Return where the use of remote services is counted."""
    import platformdirs

    return platformdirs.user_data_path("carrel", appauthor=False) / "usage.sqlite"


def keep_key(provider: str, key: Secret) -> None:
    """Keep a provider's key in the system's keyring. Raises `ProviderError`."""
    from carrel.providers.keys import keyring_set

    keyring_set(provider, key)


def delete_key(provider: str) -> bool:
    """Delete a provider's key from the system's keyring; tell whether there was one. Raises `ProviderError`."""
    from carrel.providers.keys import keyring_remove

    return keyring_remove(provider)


class OutboundServices:
    """Permission, keys and limits as the settings of this moment say."""

    def __init__(
        self,
        permissions: PermissionFile | None = None,
        keys: StandardKeys | None = None,
        meter: UsageMeter | None = None,
        audit: AuditTrail | None = None,
    ) -> None:
        """Take those that shall not be the person's own: tests hand in theirs."""
        self._settings: Settings | None = None
        self._keys = keys
        self._meter = meter
        self._audit = audit
        self.permissions = permissions or PermissionFile(allowed=lambda: self._settings.allow_providers if self._settings else ())

    @property
    def keys(self) -> StandardKeys:
        """Return where keys are found; the editor's are given to it."""
        if self._keys is None:
            from carrel.providers.keys import StandardKeys

            self._keys = StandardKeys()
        return self._keys

    @property
    def meter(self) -> UsageMeter:
        """Return what counts and limits the use."""
        if self._meter is None:
            from carrel.policy.usage import UsageMeter

            self._meter = UsageMeter(usage_file(), self._limits)
        return self._meter

    def use(self, settings: Settings) -> None:
        """Have these settings count for all providers from now on: what they allow no more is asked no more."""
        self._settings = settings
        if self._audit is not None:
            self._audit.settings = settings.audit

    def of(self, settings: Settings) -> Outbound:
        """Return what a provider needs of its surroundings, by these settings."""
        self.use(settings)
        meter = self._audit.metered(self.meter) if self._audit is not None else self.meter
        return Outbound(self.permissions, self.keys, meter, settings.http_proxy)

    def current(self) -> Outbound:
        """Return what a provider needs of its surroundings, by the settings that count now."""
        return Outbound(self.permissions, self.keys, self.meter, self._settings.http_proxy if self._settings else "")

    def _limits(self) -> Limits:
        from carrel.policy.usage import Limits

        limits = self._settings.limits if self._settings else None
        return Limits(limits.requests_per_minute, limits.tokens_per_minute, limits.cost_per_day) if limits else Limits()
