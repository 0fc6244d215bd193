"""Results as JSON: dataclasses become objects; addresses become ``0x…`` strings."""

from __future__ import annotations

import dataclasses
import datetime
import json
from enum import Enum
from typing import Any, cast

from kdive.addr import json_address


def to_data(value: Any, *, address: bool = False) -> Any:
    """Turn a result into what ``json.dumps`` takes.

    Fields whose metadata says ``format: address`` are written as lower-case ``0x…`` strings, whole lists and dictionary
    values of them too.
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
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            member.name: to_data(getattr(value, member.name), address=member.metadata.get("format") == "address")
            for member in dataclasses.fields(value)
            if not member.name.startswith("_")
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
