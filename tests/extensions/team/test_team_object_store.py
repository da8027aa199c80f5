"""A team's values in an object store: keys, permissions, certificates."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract import object_store, qdrant_server

pytest.importorskip("cryptography", reason="the extra team isn't installed")
pytest.importorskip("obstore", reason="the extra s3 isn't installed")

from tests.contract.certificates import Authority
from tests.extensions.team.common import SECRET, objects

from carrel.composition.team import make_team_cache, team_destination
from carrel.extensions.team.object_values import _VARIABLES
from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.outbound import Destination, Outbound, collect, summed
from carrel.policy.permissions import PermissionFile
from carrel.policy.usage import Limits, UsageMeter
from carrel.providers.keys import StandardKeys
from carrel.settings.team_settings import TeamSettings


async def test_a_key_of_the_keyring_is_one_word(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        access, secret = (object_store.KEYS[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
        one = objects(tmp_path, endpoint, {"PLANTED": f"{access}:{secret}"}, key="env:PLANTED")
        await one.write({bytes(16): b"value"})
        assert await one.read([bytes(16)]) == {bytes(16): b"value"}


@pytest.mark.parametrize(
    ("keys", "named", "part"),
    [
        ({}, {}, "carrel models key s3"),
        ({"PLANTED": "planted-key"}, {"key": "env:PLANTED"}, "ID:SECRET"),
        ({"AWS_ACCESS_KEY_ID": "planted-id", "AWS_SECRET_ACCESS_KEY": "planted-key"}, {}, r"refused the key \(403\)"),
        (dict.fromkeys(_VARIABLES, "planted"), {}, "temporary key .* was not sent"),
    ],
)
async def test_a_key_that_is_missing_or_wrong_is_told_and_never_shown(
    tmp_path: Path, keys: dict[str, str], named: dict[str, str], part: str
) -> None:
    if "403" in part and object_store.ENDPOINT:
        pytest.skip("a stand-in knows its key; the real server may take any")
    with object_store.running() as endpoint, pytest.raises(ProviderError, match=part) as raised:
        await objects(tmp_path, endpoint, keys, **named).write({bytes(16): b"value"})
    assert "planted" not in str(raised.value)


async def test_a_bucket_that_is_not_there_holds_nothing_and_takes_nothing(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        values = objects(tmp_path, endpoint)
        values._bucket = "no-such-bucket"
        assert await values.read([bytes(16)]) == {}
        with pytest.raises(ProviderError, match="no such bucket"):
            await values.write({bytes(16): b"value"})


async def test_nothing_goes_to_an_object_store_before_a_person_allowed_it_nor_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = objects(tmp_path, "")
    with pytest.raises(NotAllowed, match=r"carrel confirm team s3\.us-east-1\.amazonaws\.com"):
        await elsewhere.read([bytes(16)])
    PermissionFile(tmp_path / "permissions.json").allow(Destination("team", "minio.example:80"))
    with pytest.raises(ProviderError, match="without encryption"):
        await objects(tmp_path, "http://minio.example").write({bytes(16): b"value"})
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{qdrant_server.free_port()}")
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{qdrant_server.free_port()}")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
    with object_store.running() as endpoint:
        values = objects(tmp_path, endpoint)
        with collect() as receipt:
            await values.write({bytes(16): b"value"})
            assert await values.read([bytes(16), bytes(15) + b"1"]) == {bytes(16): b"value"}, "the environment decides nothing"
    (sent,) = summed(receipt)
    assert (sent.destination, sent.role, sent.bytes) == (values.destinations[0], "store", 5)
    assert sent.load.requests == 3


async def test_an_authority_of_ones_own_is_trusted_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    with object_store.running(authority.certificate()) as endpoint:
        with pytest.raises(ProviderError, match=r"isn't trusted.*SSL_CERT_FILE"):
            await objects(tmp_path, endpoint).read([bytes(16)])
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        values = objects(tmp_path, endpoint)
        await values.write({bytes(16): b"value"})
        assert await values.read([bytes(16)]) == {bytes(16): b"value"}


@pytest.mark.parametrize(
    ("host", "days", "remedy"), [("127.0.0.1", -30, "renewed.*clock"), ("other.example", 30, "name that its certificate is for")]
)
async def test_a_certificate_of_a_known_authority_may_be_wrong_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, days: int, remedy: str
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with object_store.running(authority.certificate(host, days=days)) as endpoint, pytest.raises(ProviderError, match=remedy):
        await objects(tmp_path, endpoint).read([bytes(16)])


async def test_the_settings_name_an_object_store(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        settings = TeamSettings(url=f"s3://{object_store.BUCKET}/acme/", endpoint=endpoint, key="env:PLANTED")
        keys = StandardKeys({"PLANTED": ":".join(object_store.KEYS.values()), "CARREL_TEAM_SECRET": SECRET})
        around = Outbound(PermissionFile(tmp_path / "permissions.json"), keys, UsageMeter(None, Limits))
        cache = make_team_cache(settings, around, tmp_path / "team.sqlite")
        assert cache is not None
        assert (await cache.probe()).state == "ready"
        assert str(team_destination(settings, around)) == f"team at {endpoint.partition('://')[2]}"
        assert cache.place == f"carrel-team in s3://{object_store.BUCKET}/acme at {endpoint.partition('://')[2]}"


async def test_an_object_that_nobody_of_the_team_made_is_bounded(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        values = objects(tmp_path, endpoint)
        await values.write({bytes(16): b"x" * 200_000})
        assert await values.read([bytes(16)]) == {bytes(16): b""}
