from __future__ import annotations

import struct

import pytest

from kdive.errors import FormatError, KdiveError, UnsupportedError
from kdive.formats.pdb.msf import MsfFile
from tests.data import need
from tests.formats.pdb.build import msf


@pytest.mark.parametrize("block_size", [512, 1024, 2048, 4096, 8192, 16384, 32768])
@pytest.mark.parametrize("scatter", [False, True])
def test_streams_come_back_whole_whatever_the_block_size_and_order(block_size: int, scatter: bool) -> None:
    streams = [b"", b"one", bytes(range(256)) * 300, b"x" * block_size]
    file = MsfFile(msf(streams, block_size, scatter=scatter))
    assert [file.stream(index) for index in range(file.stream_count)] == streams


def test_a_deleted_stream_is_empty() -> None:
    data = bytearray(msf([b"", b"ab"]))
    at = data.index(struct.pack("<III", 2, 0, 2)) + 4
    data[at : at + 4] = b"\xff\xff\xff\xff"
    file = MsfFile(bytes(data))
    assert not file.has(0)
    assert file.stream(0) == b""
    assert file.stream(1) == b"ab"


def test_a_stream_that_repeats_one_block_beyond_the_size_of_the_file_is_refused() -> None:
    data = bytearray(msf([b"", b"z" * 512 * 20]))
    at = data.index(struct.pack("<III", 2, 0, 512 * 20)) + 8
    data[at : at + 4] = struct.pack("<I", 0x7FFFFFFF)
    with pytest.raises(FormatError, match="claims"):
        MsfFile(bytes(data)).stream(1)


def test_a_block_number_outside_the_file_is_refused() -> None:
    data = bytearray(msf([b"", b"hello"]))
    at = data.index(struct.pack("<III", 2, 0, 5)) + 12
    data[at : at + 4] = struct.pack("<I", 0x7FFFFFFF)
    with pytest.raises(FormatError, match="names block"):
        MsfFile(bytes(data)).stream(1)


def test_a_file_cut_short_is_refused_with_a_hint() -> None:
    with pytest.raises(FormatError, match="cut short") as caught:
        MsfFile(msf([b"", b"hello" * 1000])[:-2000])
    assert caught.value.hint


def test_every_truncation_of_a_small_file_is_refused_or_read() -> None:
    whole = msf([b"", b"hello" * 100])
    for size in range(0, len(whole), 7):
        try:
            MsfFile(whole[:size]).stream(1)
        except KdiveError:
            continue


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0", "2.00"),
        (b"BSJB\x01\0\x01\0", "portable"),
    ],
)
def test_other_kinds_of_pdb_are_named_in_the_refusal(head: bytes, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        MsfFile(head.ljust(4096, b"\0"))


def test_a_missing_and_an_empty_file_are_refused(tmp_path) -> None:
    with pytest.raises(FormatError, match="cannot read"):
        MsfFile.open(tmp_path / "none.pdb")
    (tmp_path / "empty.pdb").touch()
    with pytest.raises(FormatError, match="not a PDB"):
        MsfFile.open(tmp_path / "empty.pdb")


def test_a_wrong_block_size_is_refused() -> None:
    data = bytearray(msf([b"", b"x"]))
    data[32:36] = struct.pack("<I", 1000)
    with pytest.raises(FormatError, match="block size 1000"):
        MsfFile(bytes(data))
    with pytest.raises(FormatError):
        MsfFile.open(need("pdb/llvm/DebugInfo-PDB/Inputs/bad-block-size.pdb"))
