"""The MSF 7.00 container: the little file system of blocks that a PDB lives in.

Format facts: Microsoft's published PDB sources (``PDB/msf``) and LLVM's "The MSF File Format".
"""

from __future__ import annotations

import struct
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from kdive.errors import FormatError, UnsupportedError
from kdive.formats.buffer import Buffer
from kdive.formats.pdb.source import BytesSource, open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from kdive.formats.pdb.source import Source

MAGIC = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
_MAGIC_V2 = b"Microsoft C/C++ program database 2.00"
_MAGIC_PORTABLE = b"BSJB"
_SUPERBLOCK = struct.Struct("<IIIIII")
_NIL_SIZE = 0xFFFFFFFF
_MAX_STREAMS = 0x10000
"""Stream numbers are 16-bit everywhere else in a PDB."""


class MsfFile:
    """An MSF container, read-only.

    Only the superblock and the directory are read by the constructor; a stream's bytes are gathered when asked for, in
    runs of adjacent blocks.

    Args:
        data: The file's bytes, or where to read them.
        name: For messages.

    Attributes:
        block_size: Bytes per block.
        stream_sizes: Size in bytes of every stream (0 for deleted ones).

    Raises:
        FormatError: This is not an MSF file, or its directory is broken.
        UnsupportedError: This is a PDB of another container format.
    """

    def __init__(self, data: bytes | Source, name: str = "PDB") -> None:
        self._source = source = BytesSource(data) if isinstance(data, bytes) else data
        self.name = name
        head = source.read(0, 64)
        if not head.startswith(MAGIC):
            raise _refusal(head, name)
        self.block_size, _, blocks, directory_size, _, map_block = Buffer(head, name).unpack(_SUPERBLOCK, 32)
        if self.block_size not in (512, 1024, 2048, 4096, 8192, 16384, 32768):
            raise FormatError(f"{name} has block size {self.block_size}", offset=32)
        # A file may be cut in its last block: what counts is what is there.
        present = -(-source.size // self.block_size)
        if blocks > present:
            raise FormatError(
                f"{name} is cut short: {blocks} blocks recorded, {present} present",
                offset=source.size,
                hint="fetch the file again",
            )
        self._block_count = present
        count = self._blocks_for(directory_size)
        if directory_size > source.size or count * 4 > source.size:
            raise FormatError(f"{name} claims a directory of {directory_size:#x} bytes", offset=44)
        map_at = map_block * self.block_size
        map_bytes = (
            Buffer(source.read(map_at, count * 4), f"{name} directory map", map_at).slice(0, count * 4).cast("I")
        )
        self._directory = Buffer(self._gather(map_bytes, directory_size), f"{name} stream directory")
        streams = self._directory.u32(0)
        if streams > _MAX_STREAMS:
            raise FormatError(f"{name} claims {streams} streams", offset=0)
        sizes = self._directory.slice(4, streams * 4).cast("I").tolist()
        self.stream_sizes: list[int] = [0 if size == _NIL_SIZE else size for size in sizes]
        block = self.block_size
        ends = accumulate((-(-size // block) for size in self.stream_sizes), initial=1 + streams)
        self._block_lists = list(ends)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> MsfFile:
        """Open a file and read its directory.

        Raises:
            FormatError: The file cannot be read or is not an MSF file.
            UnsupportedError: It is a PDB of another container format.
        """
        return cls(open_source(path), Path(path).name)

    def _blocks_for(self, size: int) -> int:
        return -(-size // self.block_size)

    def _gather(self, blocks: memoryview, size: int) -> bytes:
        read, step, limit = self._source.read, self.block_size, self._block_count
        pieces: list[bytes] = []
        numbers: list[int] = blocks.tolist()
        start = 0
        for index in range(1, len(numbers) + 1):
            if index < len(numbers) and numbers[index] == numbers[index - 1] + 1:
                continue
            first, last = numbers[start], numbers[index - 1]
            if last >= limit:
                raise FormatError(f"{self.name} names block {last} of {limit}", offset=last * step)
            wanted = min((last + 1 - first) * step, size - start * step)
            pieces.append(read(first * step, wanted))
            start = index
        whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if len(whole) < size:
            raise FormatError(f"{self.name} is cut short in a stream of {size:#x} bytes", offset=self._source.size)
        return whole

    @property
    def stream_count(self) -> int:
        """How many streams there are."""
        return len(self.stream_sizes)

    def has(self, index: int) -> bool:
        """Whether a stream of this number exists and is not empty."""
        return 0 <= index < len(self.stream_sizes) and self.stream_sizes[index] > 0

    def view(self, index: int) -> StreamView:
        """Return a stream to be read in parts.

        Raises:
            FormatError: There is no such stream, or it claims to be larger than the file.
        """
        if not 0 <= index < len(self.stream_sizes):
            raise FormatError(f"{self.name} has no stream {index}")
        size = self.stream_sizes[index]
        # Blocks are never shared, so no stream outgrows the file; without this check a small hostile directory that
        # names one block over and over would ask for gigabytes.
        if size > self._source.size:
            raise FormatError(f"{self.name} claims {size:#x} bytes for stream {index}")
        blocks = self._directory.slice(self._block_lists[index] * 4, self._blocks_for(size) * 4).cast("I")
        return StreamView(self._gather, blocks, size, self.block_size, f"{self.name} stream {index}")

    def stream(self, index: int) -> bytes:
        """Return the bytes of a stream.

        Raises:
            FormatError: There is no such stream, or its blocks lie outside the file.
        """
        return self.view(index).whole() if index >= len(self.stream_sizes) or self.stream_sizes[index] else b""


class StreamView:
    """A stream that is read in parts, or whole.

    Attributes:
        size: Size in bytes.
    """

    __slots__ = ("_block_size", "_blocks", "_gather", "_name", "_whole", "size")

    def __init__(
        self, gather: Callable[[memoryview, int], bytes], blocks: memoryview, size: int, block_size: int, name: str
    ) -> None:
        self._gather = gather
        self._blocks = blocks
        self._block_size = block_size
        self._name = name
        self._whole: bytes | None = None
        self.size = size

    def read(self, at: int, size: int) -> bytes:
        """Return ``size`` bytes at an offset.

        Raises:
            FormatError: They do not lie in the stream, or their blocks lie outside the file.
        """
        end = at + size
        if at < 0 or size < 0 or end > self.size:
            raise FormatError(f"{self._name} is cut short: {size} bytes wanted, {self.size} present", offset=max(at, 0))
        if self._whole is not None:
            return self._whole[at:end]
        if not size:
            return b""
        first = at // self._block_size
        start = first * self._block_size
        blocks = self._blocks[first : (end - 1) // self._block_size + 1]
        return self._gather(blocks, end - start)[at - start :]

    def whole(self, *, keep: bool = False) -> bytes:
        """Return all bytes; with ``keep`` later reads are answered from them.

        Raises:
            FormatError: Blocks lie outside the file.
        """
        if self._whole is not None:
            return self._whole
        data = self._gather(self._blocks, self.size) if self.size else b""
        if keep:
            self._whole = data
        return data


def _refusal(head: bytes, name: str) -> FormatError | UnsupportedError:
    if head.startswith(_MAGIC_V2):
        return UnsupportedError(
            f"{name} is a PDB 2.00 file (Visual C++ 6 or older)", hint="only PDB 7.00 files are supported"
        )
    if head.startswith(_MAGIC_PORTABLE):
        return UnsupportedError(
            f"{name} is a portable PDB of managed code", hint="only native PDB 7.00 files are supported"
        )
    return FormatError(f"{name} is not a PDB file", offset=0)
