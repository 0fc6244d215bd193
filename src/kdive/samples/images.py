"""Small PE images: code with unwind data, exports and a CodeView record."""

from __future__ import annotations

import struct
import uuid

from kdive.record import Record

TEXT, RDATA, DATA, SIZE = 0x1000, 0x2000, 0x3000, 0x4000


class Function(Record, frozen=True):
    """A function to assemble.

    Attributes:
        name: Its name.
        frame: Bytes that its prologue takes from the stack, a multiple of 8.
        calls: Name of the function that it calls, empty for a call through ``rax``, None for no call.
        body: Code before the call.
        trap: It is entered by an exception that pushed a machine frame with an error code.
    """

    name: str
    frame: int
    calls: str | None = None
    body: bytes = b""
    trap: bool = False


class Image(Record):
    """An assembled image.

    Attributes:
        name: File name.
        base: Load address.
        data: Its bytes as mapped.
        symbols: Name to RVA.
        returns: Function name to the RVA behind its call.
        timestamp: ``TimeDateStamp``.
        pdb: PDB file name, GUID (32 hex digits) and age.
    """

    name: str
    base: int
    data: bytes
    symbols: dict[str, int]
    returns: dict[str, int]
    timestamp: int
    pdb: tuple[str, str, int]


def _prologue(frame: int) -> bytes:
    if not frame:
        return b""
    if frame < 0x80:
        return b"\x48\x83\xec" + bytes([frame])
    return b"\x48\x81\xec" + struct.pack("<I", frame)


def _unwind(function: Function) -> bytes:
    prologue = _prologue(function.frame)
    codes: list[bytes] = []
    size = len(prologue)
    if function.frame:
        if function.frame <= 128:
            codes.append(bytes([size, (function.frame // 8 - 1) << 4 | 2]))
        else:
            codes.append(bytes([size, 1]) + struct.pack("<H", function.frame // 8))
    if function.trap:
        codes.append(bytes([0, 1 << 4 | 10]))
    raw = b"".join(codes)
    count = len(raw) // 2
    return bytes([1, size, count, 0]) + raw + bytes(len(raw) % 4)


def assemble(
    name: str,
    base: int,
    functions: list[Function],
    variables: dict[str, int],
    pdb: tuple[str, str, int],
    timestamp: int,
) -> Image:
    """Assemble functions into an image.

    Args:
        name: File name.
        base: Load address.
        functions: In order of address.
        variables: Name to offset in ``.data``.
        pdb: PDB file name, GUID and age.
        timestamp: ``TimeDateStamp``.
    """
    code = bytearray()
    symbols: dict[str, int] = {}
    returns: dict[str, int] = {}
    ranges: list[tuple[int, int]] = []
    fixups: list[tuple[int, str]] = []
    for function in functions:
        code.extend(b"\xcc" * (-len(code) % 16))
        begin = TEXT + len(code)
        symbols[function.name] = begin
        code += _prologue(function.frame) + function.body
        if function.calls:
            code += b"\xe8\0\0\0\0"
            fixups.append((len(code), function.calls))
        elif function.calls == "":
            code += b"\xff\xd0"
        returns[function.name] = TEXT + len(code)
        code += b"\x90"
        if function.frame:
            code += (
                (b"\x48\x83\xc4" + bytes([function.frame]))
                if function.frame < 0x80
                else (b"\x48\x81\xc4" + struct.pack("<I", function.frame))
            )
        code += b"\xc3"
        ranges.append((begin, TEXT + len(code)))
    for at, target in fixups:
        struct.pack_into("<i", code, at - 4, symbols[target] - (TEXT + at))
    symbols |= {variable: DATA + offset for variable, offset in variables.items()}
    rdata = bytearray()
    unwinds: list[int] = []
    for function in functions:
        unwinds.append(RDATA + len(rdata))
        rdata += _unwind(function)
    rdata.extend(bytes(-len(rdata) % 4))
    pdata_at = RDATA + len(rdata)
    for (begin, end), unwind in zip(ranges, unwinds, strict=True):
        rdata += struct.pack("<III", begin, end, unwind)
    pdata_size = 12 * len(functions)
    exports_at = RDATA + len(rdata)
    rdata += _exports(name, exports_at, symbols)
    exports_size = RDATA + len(rdata) - exports_at
    rdata.extend(bytes(-len(rdata) % 4))
    record = b"RSDS" + uuid.UUID(pdb[1]).bytes_le + struct.pack("<I", pdb[2]) + pdb[0].encode() + b"\0"
    record_at = RDATA + len(rdata)
    rdata += record + bytes(-len(record) % 4)
    debug_at = RDATA + len(rdata)
    rdata += struct.pack("<IIHHIIII", 0, timestamp, 0, 0, 2, len(record), record_at, record_at)
    data = bytearray(SIZE)
    data[0:TEXT] = _headers(timestamp, {0: (exports_at, exports_size), 3: (pdata_at, pdata_size), 6: (debug_at, 28)})
    data[TEXT : TEXT + len(code)] = code
    data[RDATA : RDATA + len(rdata)] = rdata
    return Image(name, base, bytes(data), symbols, returns, timestamp, pdb)


def _exports(name: str, at: int, symbols: dict[str, int]) -> bytes:
    names = sorted(symbols)
    functions_at = at + 40
    names_at = functions_at + 4 * len(names)
    ordinals_at = names_at + 4 * len(names)
    text_at = ordinals_at + 2 * len(names)
    text = name.encode() + b"\0"
    pointers: list[int] = []
    for symbol in names:
        pointers.append(text_at + len(text))
        text += symbol.encode() + b"\0"
    head = struct.pack(
        "<IIHHIIIIIII", 0, 0, 0, 0, text_at, 1, len(names), len(names), functions_at, names_at, ordinals_at
    )
    body = b"".join(struct.pack("<I", symbols[symbol]) for symbol in names)
    body += b"".join(struct.pack("<I", pointer) for pointer in pointers)
    body += b"".join(struct.pack("<H", index) for index in range(len(names)))
    return head + body + text


def _headers(timestamp: int, directories: dict[int, tuple[int, int]]) -> bytes:
    out = bytearray(TEXT)
    out[0:2] = b"MZ"
    struct.pack_into("<I", out, 0x3C, 0x80)
    out[0x80:0x84] = b"PE\0\0"
    struct.pack_into("<HHIIIHH", out, 0x84, 0x8664, 3, timestamp, 0, 0, 0xF0, 0x22)
    optional = 0x98
    struct.pack_into("<HBBIIIII", out, optional, 0x20B, 14, 0, 0x1000, 0x2000, 0, TEXT, TEXT)
    struct.pack_into("<QII", out, optional + 24, 0x140000000, 0x1000, 0x1000)
    struct.pack_into("<IIIHH", out, optional + 56, SIZE, TEXT, 0, 1, 0x160)
    struct.pack_into("<I", out, optional + 108, 16)
    for index, pair in directories.items():
        struct.pack_into("<II", out, optional + 112 + 8 * index, *pair)
    sections = ((b".text", TEXT, 0x60000020), (b".rdata", RDATA, 0x40000040), (b".data", DATA, 0xC0000040))
    for index, (label, rva, flags) in enumerate(sections):
        struct.pack_into(
            "<8sIIIIIIHHI", out, optional + 0xF0 + 40 * index, label, 0x1000, rva, 0x1000, rva, 0, 0, 0, 0, flags
        )
    return bytes(out)
