from __future__ import annotations

import struct

import pytest

from kdive.errors import FormatError, KdiveError, UnsupportedError
from kdive.formats.pdb.msf import MAGIC, MsfFile
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


@pytest.mark.parametrize("block_size", [4096, 32768])
def test_streams_beyond_four_gigabytes_are_read(tmp_path, block_size: int) -> None:
    # The file is sparse: only its first blocks and those of the streams take room.
    beyond = (5 << 30) // block_size
    blocks = [beyond + 2, beyond, beyond + 5]
    content = bytes(range(256)) * (block_size * 3 // 256)
    directory = struct.pack("<4I", 1, len(content) - 10, *blocks[:2]) + struct.pack("<I", blocks[2])
    place = tmp_path / "large.pdb"
    with place.open("wb") as stream:
        head = MAGIC + struct.pack("<6I", block_size, 1, beyond + 8, len(directory), 0, 3)
        stream.write(head)
        stream.seek(3 * block_size)
        stream.write(struct.pack("<I", beyond + 6))
        stream.seek((beyond + 6) * block_size)
        stream.write(directory)
        for index, block in enumerate(blocks):
            stream.seek(block * block_size)
            stream.write(content[index * block_size : (index + 1) * block_size])
        stream.truncate((beyond + 8) * block_size)
    file = MsfFile.open(place)
    assert file.stream(0) == content[:-10]
    assert file.view(0).read(block_size - 3, 6) == content[block_size - 3 : block_size + 3]


def test_parts_of_a_stream_are_those_of_the_whole() -> None:
    content = bytes(range(256)) * 40
    view = MsfFile(msf([content], scatter=True)).view(0)
    for at, size in ((0, 1), (511, 2), (512, 512), (100, 5000), (len(content), 0), (len(content) - 1, 1)):
        assert view.read(at, size) == content[at : at + size]
    for at, size in ((-1, 2), (0, -1), (len(content), 1), (0, len(content) + 1)):
        with pytest.raises(FormatError):
            view.read(at, size)
