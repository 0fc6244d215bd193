"""Disassembly in a session: code bytes from memory or image, operands with symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdive.arch.disasm import Instruction
    from kdive.session.session import Session

_MAX_INSTRUCTION = 16


def code_bytes(session: Session, address: int, size: int) -> bytes:
    """Return code bytes from memory, or from the image's copy on disk where memory lacks them."""
    data = session.memory.read_prefix(address, size)
    if len(data) == size:
        return data
    image = session.engine.image_at(address)
    other = image.read_image(address - image.base, size) if image is not None else b""
    return other if len(other) > len(data) else data


def disassemble(session: Session, address: int, count: int) -> list[Instruction]:
    """Decode up to ``count`` instructions; fewer where no more bytes are known."""
    data = code_bytes(session, address, count * _MAX_INSTRUCTION)
    return decode(session, data, address, count)


def decode(session: Session, data: bytes, address: int, limit: int) -> list[Instruction]:
    """Decode bytes in the target's instruction set, with symbols in operands."""
    if session.target.machine == "arm64":
        from kdive.arch.arm64.disasm import decode as decode_code
    else:
        from kdive.arch.amd64.disasm import decode as decode_code
    return list(decode_code(data, address, limit=limit, symbolizer=session.engine.name_of))


def instruction_line(session: Session, address: int) -> str:
    """The instruction at an address as ``u`` shows it, or question marks where the code is not known."""
    from kdive.addr import format_address

    found = disassemble(session, address, 1)
    if not found:
        return f"{format_address(address)} ??              ???"
    return found[0].text_line()
