"""``.fnent``: the unwind data of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.fnent import FunctionEntry, UnwindStep
from kdive.commands.spec import Group, command
from kdive.errors import CommandError

if TYPE_CHECKING:
    from kdive.arch.amd64.unwind import RuntimeFunction, UnwindInfo
    from kdive.commands.context import CommandContext
    from kdive.symbols.images import ModuleImage

_MAX_TABLE = 16 << 20
_AMD64_NAMES = (
    "UWOP_PUSH_NONVOL",
    "UWOP_ALLOC_LARGE",
    "UWOP_ALLOC_SMALL",
    "UWOP_SET_FPREG",
    "UWOP_SAVE_NONVOL",
    "UWOP_SAVE_NONVOL_FAR",
    "UWOP_EPILOG",
    "UWOP_SPARE_CODE",
    "UWOP_SAVE_XMM128",
    "UWOP_SAVE_XMM128_FAR",
    "UWOP_PUSH_MACHFRAME",
)
_AMD64_REGISTERS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)))
_FLAGS = {1: "exception handler", 2: "termination handler", 4: "chained"}


@command(
    ".fnent",
    syntax="<address>",
    group=Group.STACK,
    summary="show a function's table entry and unwind data",
    examples=(".fnent nt!KeBugCheckEx", ".fnent rip"),
)
def fnent(context: CommandContext, arguments: str) -> FunctionEntry:
    """Show unwind data."""
    session = context.session
    address = context.evaluate(arguments) if arguments else session.context().ip
    image = session.engine.image_at(address)
    if image is None:
        raise CommandError(f"no module at {address:#x}", hint="lm lists the modules")
    rva, size = image.exception_directory()
    table = image.read_image(rva, min(size, _MAX_TABLE)) if rva and size else b""
    if not table:
        raise CommandError(
            f"{image.name}'s function table is not in the target and no copy of the image was found",
            hint=f"lmvm {image.name} says which file to get",
        )
    shown = _arm64(context, image, table, address) if session.target.machine == "arm64" else None
    shown = shown or (_amd64(context, image, table, address) if session.target.machine == "amd64" else None)
    if shown is None:
        raise CommandError(f"no function table entry covers {address:#x}: a leaf function, or no code")
    return shown


def _amd64(context: CommandContext, image: ModuleImage, table: bytes, address: int) -> FunctionEntry | None:
    from kdive.arch.amd64.unwind import find_function, resolve_indirect

    found = find_function(table, address - image.base)
    if found is None:
        return None
    return _amd64_entry(context, image, resolve_indirect(image.read_image, found), 0)


def _amd64_entry(context: CommandContext, image: ModuleImage, function: RuntimeFunction, depth: int) -> FunctionEntry:
    from kdive.arch.amd64.unwind import MAX_CHAIN, parse_unwind_info

    info = parse_unwind_info(image.read_image, function.unwind)
    flags = [text for bit, text in _FLAGS.items() if info.flags & bit]
    facts = {
        "version": str(info.version),
        "flags": f"{info.flags:x}" + (f" ({', '.join(flags)})" if flags else ""),
        "prolog": f"{info.prologue_size:x}",
        "codes": str(len(info.codes)),
    }
    if info.frame_register:
        facts |= {"frame reg": _AMD64_REGISTERS[info.frame_register], "frame offs": f"{info.frame_offset:x}"}
    chained = None
    if info.chained is not None and depth < MAX_CHAIN:
        chained = _amd64_entry(context, image, info.chained, depth + 1)
    return FunctionEntry(
        context.name_of(image.base + function.begin) or "",
        image.base + function.begin,
        image.base + function.end,
        image.base + function.unwind,
        facts,
        _amd64_steps(info),
        [function.end - function.begin - offset for offset, _ in info.epilogues],
        chained,
    )


def _amd64_steps(info: UnwindInfo) -> list[UnwindStep]:
    from kdive.arch.amd64.unwind import (
        ALLOC_LARGE,
        ALLOC_SMALL,
        PUSH_MACHFRAME,
        PUSH_NONVOL,
        SAVE_NONVOL,
        SAVE_NONVOL_FAR,
        SAVE_XMM128,
        SAVE_XMM128_FAR,
        SET_FPREG,
    )

    steps: list[UnwindStep] = []
    for code in info.codes:
        operands = ""
        if code.operation == PUSH_NONVOL:
            operands = f"reg: {_AMD64_REGISTERS[code.info]}"
        elif code.operation in (ALLOC_LARGE, ALLOC_SMALL):
            operands = f"size: {code.value:x}"
        elif code.operation == SET_FPREG:
            operands = f"reg: {_AMD64_REGISTERS[info.frame_register]} offset: {info.frame_offset:x}"
        elif code.operation in (SAVE_NONVOL, SAVE_NONVOL_FAR):
            operands = f"reg: {_AMD64_REGISTERS[code.info]} offset: {code.value:x}"
        elif code.operation in (SAVE_XMM128, SAVE_XMM128_FAR):
            operands = f"reg: xmm{code.info} offset: {code.value:x}"
        elif code.operation == PUSH_MACHFRAME:
            operands = "with an error code" if code.info else ""
        steps.append(UnwindStep(code.offset, _AMD64_NAMES[code.operation], operands))
    return steps


def _arm64(context: CommandContext, image: ModuleImage, table: bytes, address: int) -> FunctionEntry | None:
    from kdive.arch.arm64.unwind import find_function, parse_unwind_data

    found = find_function(table, address - image.base)
    if found is None:
        return None
    data = parse_unwind_data(image.read_image, found)
    if address - image.base >= found.begin + data.length:
        return None
    steps: list[UnwindStep] = []
    for operation in data.prologue:
        parts = [f"x{operation.register}"] if operation.register else []
        parts += [f"offset: {operation.offset:x}"] if operation.offset else []
        parts += [f"size: {operation.size:x}"] if operation.size else []
        steps.append(UnwindStep(-1, operation.name, " ".join(parts)))
    packed = found.flag != 0
    return FunctionEntry(
        context.name_of(image.base + found.begin) or "",
        image.base + found.begin,
        image.base + found.begin + data.length,
        image.base + (found.begin if packed else found.data),
        {"kind": "packed" if packed else "full", "codes": str(len(data.prologue))},
        steps,
        [offset for offset, _ in data.epilogues],
    )
