"""The same questions to kdive and to another debugger, on one machine that stands still: the facts must be the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.lab.conftest import LAB
from tests.tools import PEER, need_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Facts = Callable[[str], Any]

ADDRESS = r"[0-9a-f]{16}"
_ACCESSED_DIRTY = 0x60


def numbers(text: str) -> list[str]:
    return re.findall(rf"\b{ADDRESS}\b", text)


def number(text: str) -> str:
    return re.findall(rf"(?:\b|0x){ADDRESS}\b", text)[0].removeprefix("0x")


def registers(text: str) -> dict[str, int]:
    found = {name: int(value, 16) for name, value in re.findall(rf"\b(r[a-z0-9]{{1,2}})\s*[= ]\s*({ADDRESS})", text)}
    flags = re.search(r"(?:efl=|rfl )([0-9a-f]+)", text)
    assert flags is not None
    segments = {name: int(value, 16) for name, value in re.findall(r"\b([c-gs]s)[= ]+([0-9a-f]{4})\b", text)}
    found.pop("rfl", None)
    return {**found, **segments, "flags": int(flags[1], 16)}


def one_register(text: str) -> tuple[str, str]:
    (found,) = re.findall(rf"(\w+)=({ADDRESS})", text)
    return found


def symbols(text: str) -> list[str]:
    return re.findall(r"\b\w+![\w?@$`']+(?:\+0x[0-9a-f]+)?", text)


def frames(text: str) -> tuple[list[str], list[str]]:
    """The functions, and the stack pointers of the frames that have one (an inlined function shares its caller's)."""
    rows = [line for line in text.splitlines() if "!" in line]
    own = [row for row in rows if "inline" not in row.lower()]
    # Return addresses are offsets in one, and an inlined function has none in either.
    return [re.sub(r"\+0x.*", "", symbols(row)[0]) for row in rows], [numbers(row)[0] for row in own]


def modules(text: str) -> set[tuple[str, ...]]:
    return set(re.findall(rf"^({ADDRESS}) ({ADDRESS})\s+(\w+)", re.sub(r"  +", " ", text), re.MULTILINE))


def processes(text: str) -> set[tuple[str, ...]]:
    ours = re.findall(
        rf"PROCESS ({ADDRESS})\n.*Cid: 0*([0-9a-f]+) .*ParentCid: 0*([0-9a-f]+)\n.*DirBase: 0*([0-9a-f]+) .*\n"
        r" +Image: (\S+)",
        text,
    )
    theirs = re.findall(
        rf"^({ADDRESS}) +\S+ +\d+ \(0x([0-9a-f]+)\).*\d+ \(0x([0-9a-f]+)\) +0*([0-9a-f]+) .* (\S+)$", text, re.MULTILINE
    )
    found = {(one[0], one[1], one[2].rjust(1, "0"), *one[3:]) for one in (*ours, *theirs)}
    assert found
    return {tuple(part or "0" for part in one) for one in found}


def thread(text: str) -> dict[str, Any]:
    labels = {
        "thread": rf"THREAD ({ADDRESS})",
        "process": rf"(?:Owning Process|EPROCESS) +({ADDRESS})",
        "start": rf"(?:Win32 Start Address +0x|Win32 start address +)({ADDRESS})",
        "base": rf"(?:Stack Base|stack base) +({ADDRESS})",
        "limit": rf"(?:Limit|stack limit) +({ADDRESS})",
    }
    found = {name: re.search(pattern, text) for name, pattern in labels.items()}
    return {name: match[1] if match is not None else None for name, match in found.items()} | {
        "frames": frames(
            "\n".join(line for line in text.splitlines() if re.match(rf" ?\d\d {ADDRESS}|[0-9a-f]{{16}} |\(In", line))
        )
    }


def control_region(text: str) -> dict[str, str | None]:
    labels = {
        "region": rf"KPCR .* at ({ADDRESS})",
        "block": rf"(?:CurrentPrcb|Prcb) *: ({ADDRESS})",
        "thread": rf"CurrentThread *: ({ADDRESS})",
        "idle": rf"IdleThread *: ({ADDRESS})",
        "self": rf"Self *: ({ADDRESS})",
    }
    found = {name: re.search(pattern, text) for name, pattern in labels.items()}
    return {name: match[1] if match is not None else None for name, match in found.items()}


def entries(text: str) -> list[int]:
    """The contents of the page-table entries, but for what the processor itself sets when a page is used."""
    return [int(value, 16) & ~_ACCESSED_DIRTY for value in re.findall(rf"contains ({ADDRESS})", text, re.IGNORECASE)]


def physical(text: str) -> str:
    return re.findall(r"physical +(?:address )?0*([0-9a-f]+)", text)[-1]


def named_addresses(text: str) -> set[tuple[str, str]]:
    return set(re.findall(rf"^({ADDRESS}) +(\S+!\S+)", text, re.MULTILINE))


def nearest(text: str) -> str:
    return symbols(text)[0]


def code(text: str) -> list[tuple[str, str]]:
    """Addresses and bytes."""
    rows = re.findall(rf"^ *({ADDRESS}) (?:\+0x[0-9a-f]+ +)?((?:[0-9a-f]{{2}} ?)+)(?: |$)", text, re.MULTILINE)
    return [(address, data.replace(" ", "")) for address, data in rows]


def words(text: str) -> list[str]:
    """Addresses and the data behind them, without the characters beside it."""
    found: list[str] = []
    for line in text.splitlines():
        row = re.match(rf"(?:\S+ .? ?)?({ADDRESS}) +((?:[0-9a-f]{{2,16}}[ -]?)+)", line.replace("▶", " "))
        if row is not None:
            found += [row[1], *re.split(r"[ -]+", row[2].strip())]
    return found


def quoted(text: str) -> list[str]:
    return re.findall(r'"(.*)"', text)


def pointers(text: str) -> list[tuple[str, ...]]:
    return re.findall(rf"({ADDRESS}) +({ADDRESS})(?:[ ↩]+(\S+!\S+))?", text)


def layout(text: str) -> list[tuple[str, str]]:
    return re.findall(r"\+0x([0-9a-f]{3}) (\w+)", text)


def values(text: str) -> list[tuple[str, int]]:
    rows = re.findall(r"\+0x[0-9a-f]{3} (\w+).*?[:=] *(?:\S+\s*= )?0x([0-9a-f]+)", text)
    return [(name, int(value, 16)) for name, value in rows]


def formats(text: str) -> tuple[int, int]:
    found = re.search(rf"(?:Hex: +|hexadecimal +0x)({ADDRESS})", text)
    decimal = re.search(r"\b[Dd]ecimal:? +(\d+)", text)
    assert found is not None
    assert decimal is not None
    return int(found[1], 16), int(decimal[1])


def row_starts(text: str) -> list[str]:
    return re.findall(rf"^({ADDRESS})", text, re.MULTILINE)


def region(text: str) -> tuple[str, ...]:
    found = re.findall(rf"(?:BaseAddress|Base Address|EndAddress|End Address): +({ADDRESS})", text)
    section = re.search(r"Section: +(\S+)", text)
    assert section is not None
    return (*found, section[1])


def crash(text: str) -> list[int]:
    code_, rest = re.findall(r"code ([0-9A-Fa-f]+).*\nArguments (.*)", text)[0]
    return [int(value, 16) for value in (code_, *rest.split())]


def analysis(text: str) -> list[str]:
    name = re.search(r"\b[A-Z_]{12,}_HANDLED\b", text)
    assert name is not None
    return [name[0], *[value for value in ("c0000005", "1234") if value in text]]


def version(text: str) -> tuple[bool, str]:
    base = re.search(rf"(?:Kernel base = 0x|kernel +)({ADDRESS})", text)
    assert base is not None
    return "19041" in text, base[1]


def breakpoints(text: str) -> list[str]:
    return numbers(text)


def image(text: str) -> dict[str, list[int]]:
    wanted = (
        *("machine", "number of sections", "time date stamp", "characteristics", "address of entry point"),
        *("section alignment", "file alignment", "size of image", "size of headers", "virtual size", "virtual address"),
        *("size of raw data", "file pointer to raw data"),
    )
    return {
        label: [int(value, 16) for value in re.findall(rf"^ *([0-9A-Fa-f]+) {label}\b", text, re.MULTILINE)]
        for label in wanted
    }


def every_number(text: str) -> list[str]:
    return [number(line) for line in text.splitlines() if re.search(ADDRESS, line)]


def variable(text: str) -> tuple[str, int]:
    found = re.search(r"(\w+)\s+(?:=|\S+ +param +\S+) *0x([0-9a-f]+)", text)
    assert found is not None
    return found[1], int(found[2], 16)


def accepted(text: str) -> bool:
    return "error" not in text


def plain(text: str) -> str:
    return text.strip()


QUESTIONS: tuple[tuple[str, Facts], ...] = (
    ("? nt!KiInner", number),
    ("? nt!KiOuter + 10", number),
    ("? poi(nt!PsActiveProcessHead)", number),
    ("? @rip", number),
    ("? @rsp & fff", number),
    ("? nt!KiOuter - nt!KiInner", number),
    ("? by(nt!KiInner)", number),
    ("? wo(nt!NtBuildLab)", number),
    ("? dwo(nt!KiBugCheckData)", number),
    ("? qwo(nt!KiBugCheckData + 8)", number),
    ("? (1 << 0n20) | 7", number),
    ("? @$proc", number),
    ("? @$thread", number),
    ("r", registers),
    ("r rax", one_register),
    ("r rsp", one_register),
    ("k", frames),
    ("kn 3", frames),
    ("lm", modules),
    ("lm m faulty", modules),
    ("!process 0 0", processes),
    ("!process 4 0", processes),
    ("!process 0 0 smss.exe", processes),
    ("!thread", thread),
    ("!pcr", control_region),
    ("!pte nt!KiInner", entries),
    ("!pte nt!KiBugCheckData", entries),
    ("!vtop 0 nt!KiInner", physical),
    ("!vtop 0 nt!KiBugCheckData", physical),
    ("x nt!Ki*", named_addresses),
    ("x nt!*Process*", named_addresses),
    ("x faulty!*", named_addresses),
    ("ln nt!KiInner", nearest),
    ("ln nt!KiInner+4", nearest),
    ("u nt!KiInner L4", code),
    ("u faulty!DriverEntry L6", code),
    ("uf nt!KiOuter", code),
    ("db nt!KiInner L20", words),
    ("dw nt!NtBuildLab L8", words),
    ("dd nt!KiBugCheckData L10", words),
    ("dq nt!KiBugCheckData L5", words),
    ("dp nt!PsActiveProcessHead L2", words),
    ("da nt!NtBuildLab", quoted),
    ("dps @rsp L8", pointers),
    ("dqs @rsp L4", pointers),
    ("dt nt!_LIST_ENTRY", layout),
    ("dt nt!_EPROCESS UniqueProcessId ImageFileName ActiveProcessLinks", layout),
    ("dt nt!_KTHREAD", layout),
    ("dt nt!_LIST_ENTRY nt!PsActiveProcessHead", values),
    ("dt nt!_KPRCB poi(nt!KiProcessorBlock) CurrentThread", values),
    (".formats 41", formats),
    ("s -a nt!NtBuildLab L20 19041", row_starts),
    ("s -b nt!KiInner L100 c3", row_starts),
    ("s -d nt!KiBugCheckData L10 1234", row_starts),
    ("!address nt!KiInner", region),
    ("!address faulty!DriverEntry", region),
    (".bugcheck", crash),
    ("!analyze -v", analysis),
    ("vertarget", version),
    ("bp nt!KiInner", breakpoints),
    ("bl", breakpoints),
    ("bc *", accepted),
    ("!dh nt", image),
    ("!dh faulty", image),
    ('!list -t nt!_LIST_ENTRY.Flink -x "? @$extret" nt!PsActiveProcessHead', every_number),
    ("dv", variable),
    (".echo hello", plain),
)


def answers(program: list[str], home: Path) -> Iterator[tuple[str, str]]:
    lines = [part for question, _ in QUESTIONS for part in ("-c", question)]
    environment = {**os.environ, "HOME": str(home), "KDIVE_HOME": str(home)}
    done = subprocess.run(
        [*program, *lines],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        stdin=subprocess.DEVNULL,
        env=environment,
    )
    parts = re.split(r"^\d+: kd> (.*)\n", done.stdout, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(found) == [question for question, _ in QUESTIONS], done.stderr
    return ((question, found[question].replace("`", "")) for question, _ in QUESTIONS)


@pytest.mark.timeout(300)
def test_the_facts_are_those_that_the_peer_finds(machine: Callable[..., Any], tmp_path: Path) -> None:
    from run import GuestError

    peer = need_tool(str(PEER))
    guest = machine()
    assert guest.command("load faulty.sys") == ["6"]
    guest.send("bugcheck 1e c0000005 1234 5 6")
    with pytest.raises(GuestError, match="bugcheck"):
        guest.answer()
    place, images = str(guest.kd), str(LAB / "images")
    theirs = answers(
        [peer, "--connect", place, "--memory-source", "kd", "--sympath-append", images, "--batch"], tmp_path / "peer"
    )
    ours = answers(
        [sys.executable, "-m", "kdive", "-b", "kd", "--connect", place, "--sympath", images, "--offline", "--batch"],
        tmp_path / "own",
    )
    different: list[str] = []
    for (question, facts), (_, told), (_, answered) in zip(QUESTIONS, theirs, ours, strict=True):
        expected, found = facts(told), facts(answered)
        if expected != found or not expected:
            different.append(f"{question}\n  peer:  {expected}\n  kdive: {found}")
    assert not different, "\n".join(different)
