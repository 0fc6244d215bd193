"""Make the tables of status names from a set of Windows headers.

Usage: python tools/import_status_names.py INCLUDE_DIRECTORY

The directory holds ntstatus.h and winerror.h (those of mingw-w64 are in the public domain). Only names and numbers are
taken. Where several names share a number the first one stays.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "src" / "kdive" / "nt" / "data"
_NTSTATUS = re.compile(r"#define\s+((?:STATUS|DBG|RPC_NT|EPT_NT)_\w+)\s+\(\((?:NTSTATUS|DWORD)\)(0x[0-9A-Fa-f]+)L?\)")
_WIN32 = re.compile(r"#define\s+((?:ERROR|RPC_S|RPC_X|EPT_S|WSA)_?\w+)\s+__MSABI_LONG\((\d+)\)")
_WIN32_PLAIN = re.compile(r"#define\s+((?:ERROR|RPC_S|RPC_X|EPT_S|WSA)_?\w+)\s+(\d+)L?\s*$")
_HRESULT = re.compile(r"#define\s+([A-Z]\w+)\s+_HRESULT_TYPEDEF_\((?:__MSABI_LONG\()?(0x[0-9A-Fa-f]+)L?\)?\)")


def collect(text: str, *patterns: re.Pattern[str]) -> dict[int, str]:
    """Return number → first name."""
    found: dict[int, str] = {}
    for line in text.splitlines():
        for pattern in patterns:
            match = pattern.match(line)
            if match:
                found.setdefault(int(match.group(2), 0), match.group(1))
    return found


def write(name: str, table: dict[int, str]) -> None:
    """Write ``hex<TAB>name`` lines by number."""
    lines = [f"{number:x}\t{label}" for number, label in sorted(table.items())]
    (OUT / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}: {len(table)} names")


def main() -> None:
    """Run."""
    include = Path(sys.argv[1])
    ntstatus = collect((include / "ntstatus.h").read_text("latin-1"), _NTSTATUS)
    winerror = (include / "winerror.h").read_text("latin-1")
    write("ntstatus.tsv", ntstatus)
    write("win32.tsv", collect(winerror, _WIN32, _WIN32_PLAIN))
    write("hresult.tsv", collect(winerror, _HRESULT))


if __name__ == "__main__":
    main()
