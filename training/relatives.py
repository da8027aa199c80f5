"""Tell what must stay out: the benchmarks' projects, what belongs to them, and projects that do the same thing.

Measuring on a project that the model has read, or on a sibling that copies its code, would flatter the model. The
list is by name; `pairs.py` also drops code whose text occurs in the benchmarks' own files when those are there.
The last line has those of SWE-bench's twelve projects (Jimenez and others, ICLR 2024) that the lines above lack.
"""

from __future__ import annotations

import re

NAMES = re.compile(
    r"""(^|[/:+@_.-])(
    aeson|alamofire|bash-?it|cats(-\w+)?|circe(-\w+)?|click(-\w+)?|asyncclick|typer|rich-click|commons-?lang3?|commons-?text|curl(-sys)?|pycurl|ecto|plug|phoenix
    |fmt|fmtlib|spdlog|gin|httpx2?|jackson[-\w]*|kotlinx-coroutines[-\w]*|ktor[-\w]*|laravel|illuminate|lumen|messagepack[-\w]*|msgpack[-\w]*|rmp|rmp-serde
    |mini\.?nvim|model2vec|semble|monolog|newtonsoft[-\w.]*|json-?net|nlohmann|rapidjson|simdjson|orjson|ujson|simplejson|serde_json|serde-json
    |nvm|pydantic[-\w]*|sqlmodel|rails|railties|active(record|support|model|job|storage)|action(pack|mailer|view|cable)|redis|hiredis|valkey|redux|redux-[-\w]*|react-redux|reduxjs
    |toolkit|requests[-\w]*|serde|serde[-_]\w+|erased-serde|sinatra|rack[-\w]*|padrino|grape|hanami|telescope|tokio[-_]?\w*|trpc|vapor|xmonad[-\w]*|ziglang|zls
    |flask[-\w]*|django[-\w]*|fastapi|starlette|tornado|sanic|bottle|pyramid|werkzeug|aiohttp|urllib3|httplib2|httpcore|treq|niquests|hyper[-\w]*|reqwest|ureq|isahc|surf|attohttpc
    |actix[-\w]*|axum[-\w]*|rocket|warp|tower-http|http4s[-\w]*|akka-http|play[-\w]*|spring-web[-\w]*|okhttp|retrofit|moshi|gson|fastjson2?|json-?smart|json4s|play-json|zio-json|spray-json|jsoniter[-\w]*
    |express|koa|fastify|hapi|axios|got|superagent|node-fetch|undici|ky|needle|echo|fiber|chi|beego|gorilla|resty|fasthttp|sonic|easyjson|go-json|gjson|sjson|faraday|httparty|rest-client|oj|multi-json|yajl
    |typelevel|symfony-http-\w+|slim-framework|cakephp|codeigniter|yii2?
    |astropy|matplotlib|pylint|pytest[-\w]*|scikit-learn|sklearn|seaborn|sphinx[-\w]*|sympy|xarray
    )($|[/:+@_.-]v?\d*$|_2\.1[23]|_3)""",
    re.IGNORECASE | re.VERBOSE,
)
# Clients of the `redis` server are other code; only copies of the server itself would flatter.
EXCEPTIONS = {"redis", "ruby-redis", "github.com+redis+go-redis+v9", "com.twitter+util-core_2.13"}


def is_relative(name: str) -> bool:
    """Return true for a package that belongs to the benchmarks' projects or resembles one closely."""
    return name not in EXCEPTIONS and NAMES.search(name) is not None
