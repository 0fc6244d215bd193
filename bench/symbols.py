"""Time kdive's PDB reader beside others on one big PDB, in one run, and print a table of ratios.

Usage: python bench/symbols.py [FOLDER]

The PDB is the generated one (``bench/big_pdb.py``). Each program runs in a virtual environment of its own, each
operation in processes of its own; the figure is the median. Programs that cannot be installed, and operations that a
program does not have, are left out; the reason is printed.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import big_pdb
import minidump

WORKER = Path(__file__).resolve().parent / "symbol_workers.py"
RUNS = 5
LONGEST = 60
"""Seconds that an operation may take."""
PEERS = {
    "ntoseye": "ntoseye==0.52.0",
    "symbolic": "symbolic==13.9.0",
    "purepdb": "purepdb==0.6.0",
    "pdbparse": "pdbparse==1.5",
    "volatility3": "volatility3==2.28.2",
}
OPERATIONS = {
    "first symbol": {"ntoseye", "symbolic", "purepdb", "pdbparse", "volatility3", "llvm"},
    "first type": {"ntoseye", "pdbparse", "volatility3", "llvm"},
    "exact lookup": {"ntoseye", "llvm"},
    "exact lookup again": {"ntoseye"},
    "address lookup": {"ntoseye", "symbolic"},
    "address lookup again": {"ntoseye", "symbolic"},
    "wildcard scan": {"ntoseye", "purepdb", "llvm"},
    "large type": {"ntoseye", "llvm"},
    "all lines": {"symbolic", "purepdb", "llvm"},
}
SLOW = {"pdbparse", "volatility3"}
"""One run each: they take seconds to minutes."""
NOTES = (
    "first symbol, first type: from opening the file to the answer.",
    "Lookups: one of 2,000 after the first; again: the same 2,000 once more.",
    "symbolic has no names: its first symbol is the first address lookup, all lines is its conversion.",
    "ntoseye opens PDBs with a target only: a minidump of the one module. Its search is fuzzy and gives 500 at most.",
    "llvm is llvm-pdbutil, timed as a process, which finds nothing without a dump of everything.",
    "everything: a symbol, a type, an address, a scan and all lines, as far as the program has them; for peak memory.",
)


def environment_of(name: str, requirement: str) -> Path | None:
    """The interpreter of a virtual environment with a program, or None if it cannot be installed."""
    folder = Path(tempfile.gettempdir()) / "kdive-bench-symbols" / name
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            print(f"{name} is left out: {requirement} cannot be installed ({done.stderr.strip().splitlines()[-1:]})")
            return None
        (folder / ".ready").touch()
    return python


def isolated(command: list[str]) -> list[str]:
    may = (
        shutil.which("unshare")
        and not subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True).returncode
    )
    return ["unshare", "-n", *command] if may else command


def parameters(folder: Path, image: Path, pdb: Path) -> dict:
    """What the operations ask for: names, addresses and types that are in the file."""
    from kdive.symbols.pdb import PdbSymbols

    symbols = PdbSymbols.open(pdb)
    everything = [symbol for symbol in symbols.search("*") if symbol.kind == "function"]
    chosen = random.Random(1).sample(everything, 2001)
    types = dict(symbols.search_types("_*"))
    dump = folder / "big.dmp"
    dump.write_bytes(minidump.minidump(image, pdb.name))
    return {
        "pdb": str(pdb),
        "dump": str(dump),
        "base": minidump.BASE,
        "name": chosen[0].name,
        "names": [symbol.name for symbol in chosen],
        "rvas": [symbol.rva + 1 for symbol in chosen],
        "type": sorted(types)[len(types) // 2],
        "large": max(types, key=lambda name: types[name]),
        "pattern": "*AcquireSpin*",
        "fuzzy": "big!AcquireSpin",
    }


def llvm(operation: str, p: dict) -> list[str] | None:
    pdb = p["pdb"]
    commands = {
        "first symbol": ["dump", "--globals", f"--global-name={p['name']}", pdb],
        "exact lookup": ["dump", "--globals", f"--global-name={p['name']}", pdb],
        "first type": ["dump", "--types", pdb],
        "large type": ["dump", "--types", pdb],
        "wildcard scan": ["dump", "--publics", pdb],
        "all lines": ["dump", "-l", pdb],
    }
    return ["llvm-pdbutil", *commands[operation]] if operation in commands else None


def timed(command: list[str], environment: dict[str, str]) -> dict:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    return {"seconds": time.perf_counter() - started, "count": int(status == 0), "peak": usage.ru_maxrss}


def reported(python: Path, program: str, operation: str, place: Path, environment: dict[str, str]) -> dict | str:
    command = [str(python), str(WORKER), program, operation, str(place)]
    try:
        done = subprocess.run(
            isolated(command), check=False, capture_output=True, text=True, env=environment, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return f"not done after {LONGEST} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def median(runs: list[dict]) -> dict:
    middle = statistics.median(run["seconds"] for run in runs)
    return {"seconds": middle, "count": runs[0]["count"], "peak": max(run["peak"] for run in runs)}


def measure(program: str, operation: str, pythons: dict, p: dict, place: Path, environment: dict) -> dict | None:
    runs: list[dict] = []
    for _ in range(1 if program in SLOW else RUNS):
        if program == "llvm":
            command = llvm(operation, p)
            if command is None or shutil.which(command[0]) is None:
                return None
            runs.append(timed(command, environment))
        else:
            found = reported(pythons[program], program, operation, place, environment)
            if isinstance(found, str):
                print(f"{program}, {operation}: left out: {found}")
                return None
            runs.append(found)
    return median(runs)


def shown(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            return f"{seconds * scale:.3g} {unit}"
    return ""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    image, pdb = big_pdb.ensure(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    pythons: dict[str, Path] = {"kdive": Path(sys.executable)}
    for name, requirement in PEERS.items():
        python = environment_of(name, requirement)
        if python is not None:
            pythons[name] = python
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "KDIVE_HOME": home, "HOME": home}
        p = parameters(Path(home), image, pdb)
        place = Path(home) / "parameters.json"
        place.write_text(json.dumps(p), "utf-8")
        if "ntoseye" in pythons:
            # It finds PDBs in its cache; a first run puts this one there.
            first = [str(pythons["ntoseye"].parent / "ntoseye"), "--dump", p["dump"]]
            timed(isolated([*first, "--sympath-append", str(pdb.parent), "--batch", "-c", "lm"]), environment)
        print(f"{pdb.name}: {pdb.stat().st_size:,} bytes; in brackets: times as long as kdive")
        for operation, having in OPERATIONS.items():
            ours = measure("kdive", operation, pythons, p, place, environment)
            assert ours is not None
            cells: list[str] = []
            for program in [*PEERS, "llvm"]:
                if program not in having or (program != "llvm" and program not in pythons):
                    continue
                found = measure(program, operation, pythons, p, place, environment)
                if found is not None:
                    ratio = found["seconds"] / ours["seconds"]
                    cells.append(f"{program} {shown(found['seconds'])} [{ratio:.3g}x]")
            print(f"{operation:<20} kdive {shown(ours['seconds']):>9}  " + "  ".join(cells), flush=True)
        size = pdb.stat().st_size
        print("peak memory     ", end="")
        for program in ("kdive", "ntoseye", "symbolic", "purepdb", "pdbparse"):
            if program in pythons and (found := measure(program, "everything", pythons, p, place, environment)):
                print(
                    f"{program} {found['peak'] / 1024:.0f} MiB [{found['peak'] * 1024 / size:.2g} times the file]  ",
                    end="",
                )
        print()
        bare = reported(pythons["kdive"], "nothing", "", place, environment)
        print(f"an empty interpreter takes {bare['peak'] / 1024:.0f} MiB")
    for note in NOTES:
        print(re.sub(r"^", "  ", note))


if __name__ == "__main__":
    main()
