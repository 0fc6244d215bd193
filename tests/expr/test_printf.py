from __future__ import annotations

import struct

import pytest

from kdive.errors import ExpressionError, MemoryAccessError, UsageError
from kdive.expr.printf import NARROW_LIMIT, WIDE_LIMIT, format_printf
from tests.expr.world import PROCESS, STACK, World

TEXT = STACK + 0x80
WIDE = TEXT + 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"hello\\n"', "hello\n"),
        ('"a\\tb\\\\c\\"d"', 'a\tb\\c"d'),
        ('"%d", -1', "-1"),
        ('"%i", 10', "16"),
        ('"%u", ffffffff', "4294967295"),
        ('"%x", 1`00000010', "10"),
        ('"%X", abc', "ABC"),
        ('"%o", 8', "10"),
        ('"%I64x", fffff803`12345678', "fffff80312345678"),
        ('"%I64d", -1', "-1"),
        ('"%llu", 1`00000000', "4294967296"),
        ('"%hx", 12345', "2345"),
        ('"%08x|%-4d|%4d|%+d", 1f, 2, 3, 4', "0000001f|2   |   3|+4"),
        ('"%08d", -5', "-0000005"),
        ('"%#x %#o", 10, 8', "0x10 010"),
        ('"%.4x", 1', "0001"),
        ('"%*d", 6, 1', "     1"),
        ('"%c%c", 41, 42', "AB"),
        ('"%C", 20ac', "€"),
        ('"%p", fffff803`12345678', "fffff803`12345678"),
        ('"%N", 1', "0000000000000001"),
        (f'"%ma", 0x{TEXT:x}', "hello"),
        (f'"%s|%S", 0x{TEXT:x}, 0x{WIDE:x}', "hello|wide"),
        (f'"%mu|%ws", 0x{WIDE:x}, 0x{WIDE:x}', "wide|wide"),
        ('"%s and %s", "one", "two"', "one and two"),
        ('"%y", 1234', "nt!Sym+0x234"),
        ('"%ly", 1234', "nt!Sym+0x234 [file.c(12)]"),
        ('"%ly", 1235', "nt!Sym+0x235"),
        ('"100%%"', "100%"),
        ('"%d %q %"', "%d %q %"),
        ('"%d %d", 1', "1 %d"),
        ('"%x" 5', "5"),
        ('"%lf %.1f", 4009000000000000, 0x3fc00000', "3.125000 1.5"),
        ('/D "<b>x</b> &lt;", 1', "x <"),
        ('/ow "x"', "x"),
        ('"%d", @@c++(10)', "10"),
        ('"%d\\n", @$proc->Pid', "420\n"),
    ],
)
def test_conversions(text: str, expected: str) -> None:
    assert format_printf(text, World()) == expected


@pytest.mark.parametrize(("conversion", "raw"), [("msa", b"hello!"), ("msu", "wide".encode("utf-16-le"))])
def test_counted_strings(conversion: str, raw: bytes) -> None:
    world = World()
    header = struct.pack("<HHIQ", len(raw), len(raw), 0, 0x5100)
    world.memory.runs.update({0x5000: header, 0x5100: raw + b"junk"})  # type: ignore[attr-defined]
    assert format_printf(f'"%{conversion}", 5000', world).encode("utf-8") in (b"hello!", b"wide")


def test_long_strings_are_cut_at_the_limits() -> None:
    world = World()
    world.memory.runs[0x100000] = b"a" * 20_000  # type: ignore[attr-defined]
    assert len(format_printf('"%ma", 100000', world)) == NARROW_LIMIT
    assert len(format_printf('"%mu", 100000', world)) == WIDE_LIMIT


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("hello", UsageError),
        ("", UsageError),
        ('"open', UsageError),
        ('"%d", ', ExpressionError),
        ('"%d %d", 1 2', UsageError),
        ('"%99999d", 1', ExpressionError),
        ('"%ma", 0', MemoryAccessError),
        ('"%msu", 0', MemoryAccessError),
    ],
)
def test_wrong_calls(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        format_printf(text, World())


def test_pointers_have_the_targets_width() -> None:
    assert format_printf('"%p %N", 1, 2', World(pointer_size=4)) == "00000001 00000002"


def test_process_name_array_prints_as_text() -> None:
    assert PROCESS
    assert format_printf('"%ma", @$proc->Name', World()) == "System"
