"""Results as JSON: structures become objects; addresses become ``0x…`` strings."""

from __future__ import annotations

import datetime
import json
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, cast, get_args, get_origin

from msgspec import structs

from kdive.addr import json_address
from kdive.commands.results import ADDRESS
from kdive.record import Record


def to_data(value: Any, *, address: bool = False) -> Any:
    """Turn a result into what ``json.dumps`` takes.

    Fields whose type is ``Address`` are written as lower-case ``0x…`` strings, also inside lists and
    dictionaries.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, int):
        return json_address(value) if address else value
    if isinstance(value, str | float):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, Record):
        return {
            name: to_data(getattr(value, name), address=is_address) for name, is_address in _public_fields(type(value))
        }
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value)
        return {str(key): to_data(item, address=address) for key, item in entries.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_data(item, address=address) for item in cast("list[Any]", value)]
    return str(value)


def dumps(value: Any) -> str:
    """Write one line of JSON."""
    return json.dumps(to_data(value), ensure_ascii=False, separators=(", ", ": "))


@lru_cache
def _public_fields(kind: type[Record]) -> list[tuple[str, bool]]:
    """Names of a structure's public fields, and whether they hold addresses."""
    return [
        (member.name, _holds_addresses(member.type))
        for member in structs.fields(kind)
        if not member.name.startswith("_")
    ]


def _holds_addresses(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return ADDRESS in get_args(annotation)
    return any(_holds_addresses(part) for part in get_args(annotation))
