"""What commands return: plain data, one module per family.

The annotations are read at run time (JSON, schemas), so what they name is imported at run time too.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

ADDRESS = Meta(extra_json_schema={"type": "string", "pattern": "^0x[0-9a-f]+$"})
"""Marks what JSON shows as a lower-case ``0x…`` string: addresses and register values."""

Address = Annotated[int, ADDRESS]
