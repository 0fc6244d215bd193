"""Make a big PDB and its image: about 100,000 public symbols, 20,000 types, lines and inlined calls, 12 MB.

Usage: python bench/big_pdb.py [FOLDER]

The source is generated, always the same, and built with clang and lld-link (Debian: ``clang lld``). Like a
kernel's, most symbols have a name and an address only; one in twenty is a procedure with types, lines and locals.
Without a folder the files go to kdive's cache, and are made once.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kdive.directories import cache_directory

SEED = 20260
UNITS = 8
TYPES_PER_UNIT = 2500
FUNCTIONS_PER_UNIT = 625
BARE_UNITS = 2
BARE_PER_UNIT = 47_500
PREFIXES = ("Ke", "Ki", "Mm", "Mi", "Ob", "Obp", "Io", "Iop", "Ps", "Psp", "Ex", "Exp", "Cm", "Se", "Hal", "Rtl", "Lpc")
VERBS = ("Acquire", "Release", "Query", "Set", "Insert", "Remove", "Allocate", "Free", "Wait", "Signal", "Map", "Flush")
NOUNS = ("Spin", "Lock", "Queue", "Thread", "Process", "Object", "Page", "Pool", "Timer", "Handle", "Device", "Region")
BASES = ("unsigned char", "unsigned short", "unsigned int", "unsigned long long", "int", "long long", "void *", "char")
WIDE_TYPE_FIELDS = 600
"""One type is as large as a processor control block."""


def _name(chance: random.Random, number: int) -> str:
    parts = [chance.choice(PREFIXES), chance.choice(VERBS), chance.choice(NOUNS)]
    return "".join(parts) + f"{number:05d}"


def _structures(unit: int, chance: random.Random) -> list[str]:
    lines = [f"enum state_{unit} {{ {', '.join(f'State{unit}Value{i}' for i in range(40))} }};"]
    for index in range(TYPES_PER_UNIT):
        name = f"_{chance.choice(NOUNS).upper()}_{chance.choice(NOUNS).upper()}_{unit}_{index:04d}"
        lines.append(f"struct {name};")
        lines.append(f"typedef struct {name} T{unit}_{index};")
        wide = unit == 0 and index == 0
        fields = WIDE_TYPE_FIELDS if wide else chance.randint(1, 5)
        body: list[str] = []
        for number in range(fields):
            kind = chance.random()
            if kind < 0.5 or not index:
                body.append(f"{chance.choice(BASES)} {chance.choice(VERBS)}{number};")
            elif kind < 0.7:
                body.append(f"T{unit}_{chance.randrange(index)} *{chance.choice(NOUNS)}{number};")
            elif kind < 0.8:
                body.append(f"unsigned int Bits{number} : {chance.randint(1, 31)};")
            elif kind < 0.9:
                body.append(f"{chance.choice(BASES)} Array{number}[{chance.randint(2, 64)}];")
            else:
                body.append(f"enum state_{unit} State{number};")
        lines.append(f"struct {name} {{ struct {name} *Next; int First; {' '.join(body)} }};")
    return lines


def unit_source(unit: int) -> str:
    """A translation unit with types, procedures, inlined calls and variables."""
    chance = random.Random(SEED + unit)
    lines = _structures(unit, chance)
    inline = f"inline_{unit}"
    lines.append(f"static inline __attribute__((always_inline)) int {inline}(int value) {{")
    lines += ["  int twice = value * 2;", "  return twice + 1;", "}"]
    for index in range(FUNCTIONS_PER_UNIT):
        name = _name(chance, unit * FUNCTIONS_PER_UNIT + index)
        first, second, third, fourth = (f"T{unit}_{4 * index + offset}" for offset in range(4))
        lines.append(f"int {name}({first} *object, {second} *other, {third} *more, {fourth} *last, int count) {{")
        lines += [f"  int result = {inline}(count);", "  if (object->Next) result += object->First;"]
        lines += [f"  result += {inline}(other->First + more->First);", "  return result + last->First;", "}"]
        if index % 8 == 0:
            lines.append(f"{first} *Head{name};")
    return "\n".join(lines) + "\n"


def bare_source(unit: int) -> str:
    """A translation unit that is compiled without debug information: names and addresses only."""
    chance = random.Random(SEED + 1000 + unit)
    names = [_name(chance, 20_000 + unit * BARE_PER_UNIT + index) for index in range(BARE_PER_UNIT)]
    return "\n".join(f"int {name};" if index % 4 else f"void {name}(void) {{}}" for index, name in enumerate(names))


def build(folder: Path) -> tuple[Path, Path]:
    """Build the image and the PDB in a folder; return their paths."""
    image, pdb = folder / "big.sys", folder / "big.pdb"
    for tool in ("clang", "lld-link"):
        if shutil.which(tool) is None:
            raise SystemExit(f"{tool} is missing: apt-get install -y clang lld")
    folder.mkdir(parents=True, exist_ok=True)
    sources = {f"unit{unit}": unit_source(unit) for unit in range(UNITS)}
    sources |= {f"bare{unit}": bare_source(unit) for unit in range(BARE_UNITS)}

    def compile_one(name: str) -> str:
        (folder / f"{name}.c").write_text(sources[name], "utf-8")
        debug = ["-g", "-gcodeview", "-O1"] if name.startswith("unit") else ["-O0"]
        flags = ["--target=x86_64-pc-windows-msvc", "-ffreestanding", "-fno-common", "-w", *debug]
        subprocess.run(["clang", *flags, "-c", f"{name}.c", "-o", f"{name}.obj"], check=True, cwd=folder)
        return f"{name}.obj"

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sources))
    linker = [
        "lld-link",
        "/nologo",
        "/debug",
        "/dll",
        "/noentry",
        "/nodefaultlib",
        "/opt:noref",
        "/opt:noicf",
        "/Brepro",
    ]
    subprocess.run([*linker, "/out:big.sys", "/pdb:big.pdb", *objects], check=True, cwd=folder)
    for path in folder.iterdir():
        if path.suffix in (".c", ".obj", ".lib"):
            path.unlink()
    return image, pdb


def ensure(folder: Path | None = None) -> tuple[Path, Path]:
    """Return the paths of the image and the PDB, building them if they are not there."""
    folder = folder or cache_directory() / "bench"
    image, pdb = folder / "big.sys", folder / "big.pdb"
    return (image, pdb) if image.exists() and pdb.exists() else build(folder)


if __name__ == "__main__":
    for made in ensure(Path(sys.argv[1]) if len(sys.argv) > 1 else None):
        print(f"{made} {made.stat().st_size:,} bytes")
