"""A kind of store that keeps vectors elsewhere is asked for in words that fit it."""

from __future__ import annotations

from pathlib import Path

import pytest

from carrel.composition.stores import IndexFolder, place_of_store
from carrel.model.kinds import KINDS
from carrel.policy.consent import _RISKS
from carrel.settings.store_settings import StoreSettings


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_elsewhere_has_its_risk(kind: str, tmp_path: Path) -> None:
    settings = StoreSettings(kind=kind, url="https://store.example")
    place = place_of_store(settings, IndexFolder(tmp_path, tmp_path, tmp_path, 8))
    assert kind in ("segments", "lancedb") or (place is not None and place.leaves_machine)
    assert place is None or not place.leaves_machine or kind in _RISKS
