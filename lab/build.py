"""Builds the guest: `make lab-build`. Needs clang and lld; running needs neither, the result is kept in lab/images.

The same sources give the same bytes: paths in the results are relative, time stamps are hashes of the contents.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LAB = Path(__file__).resolve().parent
GUEST = LAB / "guest"
IMAGES = LAB / "images"
KERNEL_BASE = 0xFFFFF80000200000
VERSION = 14
DRIVERS = ("faulty", "second")
COMPILE = (
    *("--target=x86_64-pc-windows-msvc", "-std=c11", "-O1", "-g", "-gcodeview", "-ffreestanding", "-fno-builtin"),
    *("-fno-stack-protector", "-fasynchronous-unwind-tables", "-mno-sse", "-mno-mmx", "-mno-red-zone"),
    *("-Wall", "-Werror", "-Wno-microsoft-include"),
    *(
        "-Wno-unused-function",
        "-Wno-invalid-noreturn",
        "-fasynchronous-unwind-tables",
        "-ffile-compilation-dir=.",
        "-Iinclude",
        "-Ikd",
    ),
)
LINK = ("/nologo", "/subsystem:native", "/driver", "/nodefaultlib", "/debug", "/Brepro", "/pdbsourcepath:.")


def tool(name: str) -> tuple[str, str]:
    """A program by its plain name, and where it is: the version that the kept images are made with before any other."""
    versions = (VERSION, *(version for version in range(20, VERSION, -1)))
    for candidate in (*(f"{name}-{version}" for version in versions), name):
        found = shutil.which(candidate)
        if found:
            return name, found
    sys.exit(f"{name} is missing: apt-get install clang-{VERSION} lld-{VERSION}")


def run(program: tuple[str, str], *arguments: str) -> None:
    """Run a program in the guest's folder, under its plain name: the linker writes the name it was called by."""
    name, path = program
    subprocess.run((name, *arguments), executable=path, cwd=GUEST, check=True)


def build(target: Path) -> None:
    """Build everything into a folder."""
    clang, link, elf = tool("clang"), tool("lld-link"), tool("ld.lld")
    target.mkdir(parents=True, exist_ok=True)
    objects = GUEST / "obj"
    objects.mkdir(exist_ok=True)
    try:
        kernel: list[str] = []
        for source in sorted([*GUEST.glob("*/*.c"), *GUEST.glob("ke/*.S")]):
            relative = source.relative_to(GUEST)
            if relative.parts[0] == "drivers":
                continue
            result = f"obj/{'-'.join(relative.with_suffix('').parts)}{relative.suffix}.obj"
            options = [option for option in COMPILE if source.suffix == ".c" or not option.startswith("-g")]
            run(clang, *options, "-c", str(relative), "-o", result)
            kernel.append(result)
        out = "/entry:KiSystemStartup", f"/base:{KERNEL_BASE:#x}", "/pdbaltpath:ntkrnlmp.pdb"
        run(link, *LINK, *out, "/pdb:obj/ntkrnlmp.pdb", "/out:obj/ntoskrnl.exe", *kernel)
        for driver in DRIVERS:
            run(clang, *COMPILE, "-c", f"drivers/{driver}.c", "-o", f"obj/{driver}.obj")
            out = "/entry:DriverEntry", "/base:0xFFFFF80100000000", f"/pdbaltpath:{driver}.pdb"
            run(link, *LINK, *out, f"/pdb:obj/{driver}.pdb", f"/out:obj/{driver}.sys", f"obj/{driver}.obj")
        run(clang, "--target=x86_64-unknown-none-elf", "-Iinclude", "-c", "boot/boot.S", "-o", "obj/boot.o")
        flat = "-m", "elf_x86_64", "-nostdlib", "-static", "-e", "start32", "-Ttext=0x100000", "--oformat=binary"
        run(elf, *flat, "obj/boot.o", "-o", "obj/boot.bin")
        names = (
            "boot.bin",
            "ntoskrnl.exe",
            "ntkrnlmp.pdb",
            *(f"{name}{end}" for name in DRIVERS for end in (".sys", ".pdb")),
        )
        for name in names:
            shutil.copyfile(objects / name, target / name)
    finally:
        shutil.rmtree(objects)


def main() -> None:
    """Build, or with --check see that the kept images are what the sources give."""
    if "--check" not in sys.argv[1:]:
        build(IMAGES)
        return
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        different = [
            path.name for path in Path(folder).iterdir() if path.read_bytes() != (IMAGES / path.name).read_bytes()
        ]
    if different:
        sys.exit(f"differ from the kept images: {', '.join(sorted(different))}")
    print("the kept images are what the sources give")


if __name__ == "__main__":
    main()
