"""What commands return: plain data, one module per family."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def address_field(**options: Any) -> Any:
    """A dataclass field that holds an address or a register value: JSON shows it as a ``0x…`` string."""
    return field(metadata={"format": "address"}, **options)
