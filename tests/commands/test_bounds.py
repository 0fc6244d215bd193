"""Commands that could go on for ever look at the cancel token, also where there is nothing to find."""

from __future__ import annotations

import pytest

from kdive.cancel import CancelToken
from kdive.commands.memory import FORMATS, read_rows
from kdive.commands.search import find_all
from kdive.errors import CancelledError, CommandError
from kdive.memory.fragments import FragmentMemory


def test_a_search_through_nothing_can_be_cancelled() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        next(find_all(FragmentMemory([]), 0, 1 << 62, b"x", cancel=token))


def test_a_display_can_be_cancelled_and_is_bounded() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        read_rows(FragmentMemory([]), 0, 16, FORMATS["b"], token)
    with pytest.raises(CommandError, match="displayed at once"):
        read_rows(FragmentMemory([]), 0, 1 << 40, FORMATS["b"])
