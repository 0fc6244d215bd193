"""Schemas: arguments are checked against those that tools declare, and those of results come from their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from kdive.frontends.mcp.tool import ArgumentError

if TYPE_CHECKING:
    from kdive.frontends.mcp.tool import Tool

_KINDS: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "boolean": (bool,)}
_NOISE = ("title", "description", "default", "pattern")
_DEPTH = 1
"""How many types deep a result's schema goes: its rows."""
PAGE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "offset": {"type": "integer"},
        "shown": {"type": "integer"},
        "total": {"type": "integer"},
        "next_offset": {"type": ["integer", "null"]},
    },
}
"""Schema of where a page of rows stands among all rows."""


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Check arguments and fill in defaults.

    Raises:
        ArgumentError: They do not fit what the tool declares.
    """
    for name in tool.required:
        if name not in arguments:
            raise ArgumentError(f"{tool.name} needs the argument {name!r}")
    found = {name: schema["default"] for name, schema in tool.properties.items() if "default" in schema}
    for name, value in arguments.items():
        schema = tool.properties.get(name)
        if schema is None:
            known = ", ".join(tool.properties) or "none"
            raise ArgumentError(f"{tool.name} takes no argument {name!r}; arguments: {known}")
        if value is None and name not in tool.required:
            continue
        found[name] = _checked(f"{tool.name}: {name}", value, schema)
    return found


def _checked(where: str, value: Any, schema: dict[str, Any]) -> Any:
    declared = schema["type"]
    kinds = cast("list[str]", declared if isinstance(declared, list) else [declared])
    if isinstance(value, float) and value.is_integer() and "integer" in kinds:
        value = int(value)
    if not any(isinstance(value, _KINDS[kind]) and (kind == "boolean") == isinstance(value, bool) for kind in kinds):
        raise ArgumentError(f"{where} must be of type {' or '.join(kinds)}")
    if "enum" in schema and value not in schema["enum"]:
        raise ArgumentError(f"{where} must be one of {', '.join(schema['enum'])}")
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1 << 20):
            raise ArgumentError(f"{where} must have {schema.get('minLength', 0)} to {schema['maxLength']} characters")
    elif not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        raise ArgumentError(f"{where} must be from {schema['minimum']} to {schema['maximum']}")
    return value


def result_schema(*kinds: type, paged: bool) -> dict[str, Any]:
    """The schema of results of some types, as :func:`kdive.render.json.to_data` writes them.

    Clients load all schemas, and a model's window is small: descriptions are left out, and so is what lies deeper than
    the rows of a result.

    Args:
        kinds: Types of the results.
        paged: Whether the rows come in pages; ``page`` then says which.
    """
    _, components = msgspec.json.schema_components(kinds, ref_template="{name}")
    mains = [_bare(components[kind.__name__], components, _DEPTH) for kind in kinds]
    properties: dict[str, Any] = {}
    for main in mains:
        properties |= main["properties"]
    required: list[str] = mains[0].get("required", []) if len(mains) == 1 else []
    if paged:
        properties["page"] = PAGE
        required = [*required, "page"]
    return {"type": "object", "properties": properties, "required": required}


def _bare(schema: Any, components: dict[str, Any], depth: int) -> Any:
    """A schema without what only people read, without references, and with the types that JSON data really has."""
    if isinstance(schema, list):
        return [_bare(item, components, depth) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    entries = cast("dict[str, Any]", schema)
    if "$ref" in entries:
        return _bare(components[entries["$ref"]], components, depth - 1) if depth else {"type": "object"}
    if entries.get("format") == "duration":
        return {"type": "number"}
    is_address = entries.get("type") == "integer" and "pattern" in entries
    if is_address or "contentEncoding" in entries or entries.get("format") == "date-time":
        return {"type": "string"}
    bare: dict[str, Any] = {}
    for key, value in entries.items():
        if key == "properties":
            bare[key] = {name: _bare(inner, components, depth) for name, inner in value.items()}
        elif key not in _NOISE and not (key == "required" and depth < _DEPTH):
            bare[key] = _bare(value, components, depth)
    alternatives = bare.get("anyOf", [])
    if alternatives and all(set(item) == {"type"} for item in alternatives):
        return {"type": [item["type"] for item in alternatives]}
    return bare
