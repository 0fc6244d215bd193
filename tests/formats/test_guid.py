"""GUIDs against the standard library's."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from kdive.formats.guid import guid_hex, guid_text


@given(st.binary(min_size=16, max_size=16))
def test_both_forms_are_the_standard_ones(raw: bytes) -> None:
    standard = uuid.UUID(bytes_le=raw)
    assert guid_hex(raw) == standard.hex.upper()
    assert guid_text(raw) == str(standard).upper()
