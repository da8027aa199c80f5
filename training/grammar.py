"""Definitions of a source file with their documentation, by tree-sitter, for many languages with one set of rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node
from tree_sitter_language_pack import get_parser

LANGUAGES = {
    "py": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript", "ts": "typescript", "mts": "typescript", "tsx": "tsx",
    "rs": "rust", "go": "go", "java": "java", "kt": "kotlin", "scala": "scala", "c": "c", "h": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp",
    "cs": "csharp", "rb": "ruby", "php": "php", "swift": "swift", "lua": "lua", "ex": "elixir", "exs": "elixir", "hs": "haskell", "sh": "bash", "bash": "bash", "zig": "zig",
}  # fmt: skip
FUNCTIONS = {
    "function_definition", "function_declaration", "method_declaration", "method_definition", "constructor_declaration", "function_item", "function_signature_item",
    "method", "singleton_method", "generator_function_declaration", "function", "init_declaration", "function_signature", "protocol_function_declaration", "bind",
}  # fmt: skip
CLASSES = {
    "class_definition", "class_declaration", "interface_declaration", "enum_declaration", "struct_item", "enum_item", "trait_item", "type_declaration", "class_specifier",
    "struct_specifier", "object_definition", "trait_definition", "object_declaration", "struct_declaration", "record_declaration", "protocol_declaration", "class", "module",
    "trait_declaration", "type_alias_declaration", "abstract_class_declaration", "enum_definition", "data_type", "newtype", "type_item", "union_item",
}  # fmt: skip
CONTAINERS = CLASSES | {
    "impl_item", "mod_item", "namespace_definition", "namespace_declaration", "file_scoped_namespace_declaration", "internal_module", "declaration_list", "class_body", "enum_class_body",
    "block", "template_body", "enum_body", "interface_body", "program", "source_file", "compilation_unit", "translation_unit", "chunk", "template_declaration", "linkage_specification",
    "preproc_ifdef", "preproc_if", "export_statement", "decorated_definition", "field_declaration_list", "body_statement", "companion_object", "do_block", "source", "document",
    "extension_definition", "protocol_body", "haskell", "declarations", "statement_block", "enum_body_declarations", "ambient_declaration", "class_declarations", "type_spec", "package_object",
}  # fmt: skip
WRAPPERS = {"export_statement", "decorated_definition", "template_declaration", "ambient_declaration"}
SKIPPED_BEFORE = {"attribute_item", "attribute_list", "decorator", "annotation", "signature", "marker_annotation", "attribute"}


@dataclass(frozen=True, slots=True)
class Definition:
    """One documented or plain definition."""

    name: str
    container: str
    is_class: bool
    doc: str
    signature: str
    body: str
    line: int


def text_of(node: Node) -> str:
    """Return the node's source."""
    return (node.text or b"").decode("utf-8", "replace")


def clean_doc(text: str) -> str:
    """Comment marks, tags, markup and everything after the description taken off."""
    text = re.sub(
        r"^\s*(///?!?|//|\*/|/\*\*?!?|\*|#+|--+ ?[|^]?|;+|@(module)?doc|~[sS]|\{-+ ?\|?|-\})[ \t]?", "", text, flags=re.MULTILINE
    )
    text = re.sub(r"\*/\s*$|-\}\s*$", "", text.strip())
    text = re.sub(r"^[rRbBuUfF]*[\"']{1,3}|[\"']{1,3}$", "", text.strip())
    text = re.sub(r"</?(summary|remarks|para|p|code|see|c|em|b|i|ul|li|pre|tt)\b[^>]*>", " ", text)
    text = re.sub(
        r"\{@\w+ ([^}]*)\}|\[`?([\w.:]+)`?\](\([^)]*\))?|:\w+:`~?([^`]*)`",
        lambda m: m.group(1) or m.group(2) or m.group(4) or "",
        text,
    )
    kept = []
    for line in text.split("\n"):
        stripped = line.strip()
        if re.match(
            r"(@\w+|\\(param|return|brief)|:(param|return|type|raises)|Args?:|Parameters|Returns?:|Raises:|Examples?|```|>>>|# Example|-{3,}|={3,}|<param|<returns|<exception)",
            stripped,
        ):
            if kept:
                break
            continue
        if not stripped and sum(map(len, kept)) > 60:
            break
        kept.append(stripped)
    return " ".join(" ".join(kept).split())[:500]


def name_of(node: Node) -> str:
    """Return the defined name; C hides it inside declarators."""
    named = node.child_by_field_name("name")
    if named is None:
        inner = node.child_by_field_name("declarator")
        while inner is not None:
            following = inner.child_by_field_name("declarator")
            if following is None:
                break
            inner = following
        named = inner
    if named is None:
        named = next((child for child in node.children if "identifier" in child.type), None)
    return text_of(named).strip()[:100] if named is not None else ""


def elixir_name(node: Node) -> str:
    """Return the name in `def name(args) do`, or the module's in `defmodule`."""
    match = re.match(r"(?:defmodule|defp?|defmacrop?|defprotocol|defimpl)\s+([\w.?!]+)", text_of(node)[:200])
    return match.group(1) if match else ""


def doc_before(node: Node) -> str:
    """Return the comments right above."""
    target = node
    while target.parent is not None and target.parent.type in WRAPPERS:
        target = target.parent
    comments: list[str] = []
    row = target.start_point[0]
    previous = target.prev_sibling
    while previous is not None and len(comments) < 60:
        if previous.type in SKIPPED_BEFORE:
            row = previous.start_point[0]
        elif (
            "comment" in previous.type
            or previous.type == "haddock"
            or (previous.type == "unary_operator" and text_of(previous).startswith("@"))
        ):
            if previous.end_point[0] < row - 1 - (previous.type == "unary_operator"):
                break
            text = text_of(previous)
            if previous.type != "unary_operator" or text.startswith("@doc"):
                comments.append(text)
            row = previous.start_point[0]
        else:
            break
        previous = previous.prev_sibling
    return "\n".join(reversed(comments))


def docstring(body: Node | None) -> tuple[str, int]:
    """Python's string at the start of a body and where it ends."""
    if body is None or not body.named_children:
        return "", 0
    first = body.named_children[0]
    if first.type == "expression_statement" and first.named_children:
        first = first.named_children[0]
    return (text_of(first), first.end_byte) if first.type == "string" else ("", 0)


def definitions(source: bytes, language: str) -> Iterator[Definition]:  # noqa: PLR0912 - one walk, one case a language
    """All definitions outside functions, in order."""
    tree = get_parser(language).parse(source)  # type: ignore[arg-type]
    stack: list[tuple[Node, str, int]] = [(tree.root_node, "", 0)]
    while stack:
        node, container, depth = stack.pop()
        inside = container
        kind = node.type
        name = ""
        if language == "elixir" and kind == "call":
            name = elixir_name(node)
            is_class = text_of(node)[:9] == "defmodule"
        elif (
            kind == "variable_declarator"
            and (value := node.child_by_field_name("value")) is not None
            and value.type in {"arrow_function", "function_expression"}
        ):
            name, is_class = name_of(node), False
        elif kind in FUNCTIONS or kind in CLASSES:
            name, is_class = name_of(node), kind in CLASSES
            if kind == "type_declaration" and language == "go" and node.named_children:
                name = name_of(node.named_children[0])
        if name:
            body = node.child_by_field_name("body")
            doc = doc_before(node.parent if kind == "variable_declarator" and node.parent is not None else node)
            start = body.start_byte if body is not None else node.start_byte + len(text_of(node).split("\n", 1)[0].encode())
            signature = " ".join(source[node.start_byte : start].decode("utf-8", "replace").split())[:200]
            if language == "python":
                string, end = docstring(body)
                if string:
                    doc, start = string, end
            rest = source[start : min(node.end_byte, start + 6000)].decode("utf-8", "replace")
            yield Definition(name, container, is_class, doc, signature, rest, node.start_point[0])
            inside = f"{container}.{name}" if is_class and container else name if is_class else container
            if not is_class:
                continue
        if kind == "impl_item" and (implemented := node.child_by_field_name("type")) is not None:
            inside = text_of(implemented)[:80]
        if depth < 14:
            for child in reversed(node.children):
                if (
                    child.type in CONTAINERS
                    or child.type in FUNCTIONS
                    or child.type in {"lexical_declaration", "variable_declarator"}
                    or (language == "elixir" and child.type == "call")
                ):
                    stack.append((child, inside, depth + 1))
