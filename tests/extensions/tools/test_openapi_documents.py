"""What is read of an OpenAPI document, and what a request takes from a call's arguments."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.services.openapi_shop import parameter

from carrel.extensions.tools.catalogue.files import read_document
from carrel.extensions.tools.catalogue.openapi import from_openapi
from carrel.extensions.tools.servers.openapi_service import _answer, request_of
from carrel.model.catalogue_tool import HttpCall, HttpKey, HttpParameter
from carrel.model.errors import InvalidInput, ProviderError

LARGE = {"properties": {f"p{n}": {"type": "string"} for n in range(2_100)}}
ANSWERS = {"responses": {"200": {"content": {"application/json": {"schema": LARGE}}}}}


def call_of(item: dict[str, Any], path: str = "/items", schemes: dict[str, Any] | None = None) -> HttpCall | None:
    tools, _ = from_openapi({"paths": {path: item}, "components": {"securitySchemes": schemes or {}}}, "t")
    return tools[-1].call


def test_what_answers_look_like_hides_nothing_of_an_operation() -> None:
    needs = [{**parameter("dryRun"), "required": True}]
    made = call_of({"get": ANSWERS, "delete": {**ANSWERS, "parameters": needs}})
    assert made is not None
    assert (made.method, [sent.name for sent in made.parameters]) == ("DELETE", ["dryRun"])
    hiding: list[dict[str, Any]] = [{"security": [{"digest": []}]}, {"servers": [{"url": "https://evil.example"}]}]
    for hidden in hiding:
        assert call_of({"get": {**ANSWERS, **hidden}}, schemes={"digest": {"type": "http", "scheme": "digest"}}) is None


@pytest.mark.parametrize(
    "operation",
    [
        {"parameters": [{**parameter("a"), "schema": LARGE["properties"] | {f"x{n}": {} for n in range(10)}}]},
        {"requestBody": {"$ref": "other.yaml#/x"}},
        {"requestBody": {"$ref": "#/" + "a/" * 5_000}},
        {"parameters": [parameter(f"p{n}", enum=["x"] * 300) for n in range(2)]},
        {"parameters": [parameter("X_SHOP_KEY", "header")], "security": [{"own": []}]},
        {"parameters": {"a": parameter("a")}},
        {"parameters": ["a"]},
        {"security": {"own": []}},
        {"security": ["own"]},
        {"requestBody": {"required": True}},
        {"requestBody": {"$ref": "#/paths/~1items/put/requestBody"}},
        {"parameters": [{**parameter("X-HTTP-Method-Override", "header"), "required": True}]},
    ],
)
def test_an_operation_of_which_a_part_is_missing_is_only_found(operation: dict[str, Any]) -> None:
    own = {"type": "apiKey", "in": "header", "name": "X-Shop-Key"}
    assert call_of({"put": operation}, schemes={"own": own}) is None


RESERVED = (
    "X-Method-Override X-HTTP-Method X_HTTP_METHOD_OVERRIDE X-Original-URL X-Rewrite-URL X-Forwarded-Prefix X-Host Remote-User "
    "X-Real-IP Transfer_Encoding Content_Length Cookie2 User-Agent"
)


@pytest.mark.parametrize("name", RESERVED.split())
def test_no_argument_sets_a_header_that_says_what_is_asked_or_who_asks(name: str) -> None:
    made = call_of({"get": {"parameters": [parameter(name, "header"), parameter("X-Trace", "header")]}})
    assert made is not None
    assert [sent.name for sent in made.parameters] == ["X-Trace"]


@pytest.mark.parametrize("path", ["/..;/admin", "/a/..;x/admin", "/.;/admin"])
def test_a_path_with_a_dotted_segment_before_a_semicolon_is_only_found(path: str) -> None:
    assert call_of({"get": {}}, path) is None


def test_arguments_take_no_place_of_others() -> None:
    semicolon = HttpCall("GET", "/{id};x", (HttpParameter("id", "id", "path"),))
    with pytest.raises(ProviderError, match="leads elsewhere"):
        request_of(semicolon, {"id": ".."})
    spread = (HttpParameter("f", "f", "query"), HttpParameter("page", "page", "query"))
    call = HttpCall("GET", "/x", spread, keys=(HttpKey("query", "api_key"),))
    for field in ("page", "page[]", "api_key", "api_key[]", "API_KEY", "api.key", "api%5Fkey", "\uff41pi_key", "_method"):
        with pytest.raises(ProviderError, match=r"another parameter|underscore"):
            request_of(call, {"f": {field: "1"}})
    assert request_of(call, {"f": {"r": 1}}).target == "/x?r=1"
    declared = call_of({"get": {"parameters": [parameter("f", kind="object", explode=True)]}})
    assert declared is not None
    assert declared.parameters[0].fields is None, "its schema names none"
    schema = {"type": "object", "properties": {"r": {}}}
    declared = call_of({"get": {"parameters": [{"name": "f", "in": "query", "schema": schema}]}})
    assert declared is not None
    assert request_of(declared, {"f": {"r": 1}}).target == "/items?r=1"
    with pytest.raises(ProviderError, match=r"f: has no field admin"):
        request_of(declared, {"f": {"admin": "1"}})
    joined = HttpCall("GET", "/x", (HttpParameter("f", "f", "query", ","),))
    assert request_of(joined, {"f": {"R": 100, "G": 200}}).target == "/x?f=R%2C100%2CG%2C200"
    thrice = call_of({"get": {"parameters": [parameter("header_x"), parameter("x"), parameter("x", "header")]}})
    assert thrice is not None
    assert len({sent.argument for sent in thrice.parameters}) == 3


@pytest.mark.parametrize("said", [r'{"a": ["sk\/secret\u002B1"]}', r'{"sk\/secret+1": 1}'])
def test_a_key_is_known_in_every_spelling_of_json(said: str) -> None:
    answer = _answer("application/json", said.encode(), ["sk/secret+1"])
    assert "secret" not in answer.text + str(answer.value)


def test_merge_keys_of_yaml_do_not_multiply(tmp_path: Path) -> None:
    levels = ["a0: &a0 {x: 1, y: 2}"] + [f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    document = tmp_path / "many.yaml"
    document.write_text("\n".join(levels), "utf-8")
    with pytest.raises(InvalidInput, match="merge keys"):
        read_document(document)


async def test_hostile_documents_end_soon() -> None:
    """References that double at each level, and more operations than are kept."""
    schemas = {f"S{n}": {"properties": {side: {"$ref": f"#/components/schemas/S{n + 1}"} for side in "ab"}} for n in range(60)}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    paths = {f"/p{n}": {"post": {"requestBody": body}} for n in range(8)} | {"/loop": {"$ref": "#/paths/~1loop"}}
    tools, _ = await asyncio.wait_for(
        asyncio.to_thread(from_openapi, {"paths": paths, "components": {"schemas": schemas}}, "t"), 20
    )
    assert len(tools) == 8
    many: dict[str, Any] = {f"/p{n}": {"get": {}} for n in range(6_000)}
    tools, problems = from_openapi({"paths": many}, "t")
    assert "the first 5,000 count" in problems[-1]
    assert len(tools) == 5_000
