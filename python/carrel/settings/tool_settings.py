"""The setting `tools`: where tools come from, which of them pipelines may use, and how dangerous they are.

It counts in the person's own settings file only: it names programs that are started.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from carrel.model.catalogue_tool import BUILT_IN, Risk
from carrel.settings.setting_checks import check_key_place, check_url, decode_object, is_source_name, refuse_unknown


class ToolServer(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An MCP server: a program that is started with `command`, or one that is asked at `url`."""

    command: Annotated[str, Meta(description="The program to start, without a shell.")] = ""
    args: Annotated[tuple[str, ...], Meta(description="Its arguments.")] = ()
    env: Annotated[
        tuple[str, ...],
        Meta(description="Names of environment variables that it gets beside PATH and HOME; never values."),
    ] = ()
    cwd: Annotated[str, Meta(description="The folder that it runs in; empty for one of its own that holds nothing.")] = ""
    url: Annotated[str, Meta(description="Where it is asked by streamable HTTP.")] = ""
    key: Annotated[str, Meta(description="With `url`, where its bearer token is: `env:NAME` or `keyring`.")] = ""


class ToolSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Sources of tools by name, and what is allowed of them."""

    servers: Annotated[dict[str, ToolServer], Meta(description="MCP servers.")] = {}
    files: Annotated[dict[str, str], Meta(description="TOML or JSON files that describe tools: they are found, never run.")] = {}
    allow: Annotated[
        tuple[str, ...], Meta(description='What pipelines may use of what you approved: names such as "git.git_log", or "git.*".')
    ] = ("*",)
    risk: Annotated[
        dict[str, Risk],
        Meta(description="The risk of a tool, by its name with the source, in place of what Carrel takes."),
    ] = {}

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all sources."""
        return (*self.servers, *self.files)


def read_tools(raw: object) -> ToolSettings:
    """Read the setting `tools`. Raises `ValueError` that says what is wrong where."""
    tools = decode_object(raw, ToolSettings)
    for name in tools.sources:
        if not is_source_name(name) or name == BUILT_IN:
            raise ValueError(f"{name}: a source is named by up to 40 small letters, digits, - and _, and not `{BUILT_IN}`")
    if len(set(tools.sources)) < len(tools.sources):
        raise ValueError("two sources have one name")
    for name, server in tools.servers.items():
        refuse_unknown(raw["servers"][name] if isinstance(raw, dict) else None, ToolServer, f"servers.{name}.")
        if bool(server.command) == bool(server.url):
            raise ValueError(f"servers.{name}: needs either `command` or `url`")
        if wrong := next((item for item in server.env if not item.isidentifier()), None):
            raise ValueError(
                f"servers.{name}.env: {wrong.partition('=')[0]!r} is not the name of a variable; give no values here"
            )
        check_key_place(f"servers.{name}.key", server.key)
        check_url(f"servers.{name}.url", server.url)
    return tools
