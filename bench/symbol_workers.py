"""One operation on one PDB by one program, timed in a process of its own; prints seconds and a count as JSON.

Usage: python bench/symbol_workers.py PROGRAM OPERATION PARAMETERS

Runs in the virtual environment of the program, so nothing is imported before it is needed. Imports are not timed: the
programs differ in what they are besides a PDB reader. ``PARAMETERS`` is a JSON file (see ``bench/symbols.py``).
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path


def nothing(operation: str, p: dict) -> tuple[float, int]:
    return 0.0, len(operation) + len(p)


def kdive(operation: str, p: dict) -> tuple[float, int]:
    import kdive.symbols.demangle
    import kdive.symbols.pdb_code  # noqa: F401
    from kdive.symbols.pdb import PdbSymbols

    started = time.perf_counter()
    symbols = PdbSymbols.open(p["pdb"])
    if operation == "first symbol":
        return _since(started, symbols.lookup(p["name"]) is not None)
    if operation == "first type":
        return _since(started, symbols.find_type(p["type"]) is not None)
    if operation == "everything":
        symbols.lookup(p["name"])
        symbols.find_type(p["type"])
        symbols.nearest(p["rvas"][0])
        sum(1 for _ in symbols.search(p["pattern"]))
        return _since(started, sum(len(rvas) for _, rvas, _ in symbols.code.all_lines()))
    if operation.startswith("exact lookup"):
        return _each(symbols.lookup, p["names"], operation)
    if operation.startswith("address lookup"):
        return _each(symbols.nearest, p["rvas"], operation)
    started = time.perf_counter()
    if operation == "wildcard scan":
        return _since(started, sum(1 for _ in symbols.search(p["pattern"])))
    if operation == "large type":
        return _since(started, len(symbols.find_type(p["large"]).fields))
    return _since(started, sum(len(rvas) for _, rvas, _ in symbols.code.all_lines()))


def ntoseye(operation: str, p: dict) -> tuple[float, int]:
    import ntoseye as module

    started = time.perf_counter()
    target = module.attach(backend="dmp", connect=p["dump"])
    if operation == "first symbol":
        return _since(started, target.symbols.get(f"big!{p['name']}") is not None)
    if operation == "first type":
        return _since(started, target.types.get(p["type"]) is not None)
    target.symbols.get(f"big!{p['name']}")
    if operation == "everything":
        target.types.get(p["type"])
        target.symbols.nearest(p["base"] + p["rvas"][0])
        return _since(started, len(target.symbols.search(p["fuzzy"], limit=500)))
    if operation.startswith("exact lookup"):
        return _each(target.symbols.get, [f"big!{name}" for name in p["names"]], operation)
    if operation.startswith("address lookup"):
        return _each(target.symbols.nearest, [p["base"] + rva for rva in p["rvas"]], operation)
    started = time.perf_counter()
    if operation == "wildcard scan":
        return _since(started, len(target.symbols.search(p["fuzzy"], limit=500)))
    return _since(started, len(target.types[p["large"]].fields))


def symbolic(operation: str, p: dict) -> tuple[float, int]:
    from symbolic import Archive

    started = time.perf_counter()
    archive = Archive.open(p["pdb"])
    cache = next(iter(archive.iter_objects())).make_symcache()
    if operation == "first symbol":
        return _since(started, len(cache.lookup(p["rvas"][0])))
    if operation in ("all lines", "everything"):
        return _since(started, 1)
    return _each(cache.lookup, p["rvas"], operation)


def purepdb(operation: str, p: dict) -> tuple[float, int]:
    from purepdb import PDB

    started = time.perf_counter()
    with PDB.open(p["pdb"]) as pdb:
        if operation == "first symbol":
            return _since(started, any(symbol.name == p["name"] for symbol in pdb.public_symbols()))
        if operation == "everything":
            pdb.public_symbols()
            return _since(started, sum(1 for _ in pdb.lines()))
        started = time.perf_counter()
        if operation == "wildcard scan":
            from fnmatch import fnmatchcase

            pattern = p["pattern"].lower()
            return _since(started, sum(fnmatchcase(symbol.name.lower(), pattern) for symbol in pdb.public_symbols()))
        return _since(started, sum(1 for _ in pdb.lines()))


def pdbparse(operation: str, p: dict) -> tuple[float, int]:
    import pdbparse as module

    started = time.perf_counter()
    pdb = module.parse(p["pdb"])
    if operation == "first type":
        return _since(started, sum(1 for t in pdb.STREAM_TPI.types.values() if getattr(t, "name", "") == p["type"]))
    if operation == "everything":
        return _since(started, len(pdb.STREAM_GSYM.globals))
    return _since(started, sum(1 for s in pdb.STREAM_GSYM.globals if getattr(s, "name", "") == p["name"]))


def volatility3(operation: str, p: dict) -> tuple[float, int]:
    from volatility3.framework import contexts
    from volatility3.framework.symbols.windows import pdbconv

    started = time.perf_counter()
    content = pdbconv.PdbReader(contexts.Context(), Path(p["pdb"]).as_uri()).get_json()
    kind, name = ("user_types", "type") if operation == "first type" else ("symbols", "name")
    return _since(started, p[name] in content[kind])


def _since(started: float, count: int) -> tuple[float, int]:
    return time.perf_counter() - started, int(count)


def _each(function, arguments: list, operation: str) -> tuple[float, int]:
    """Seconds of one of many calls, and how many found something: the first time or once all were asked for before."""
    function(arguments[0])
    if operation.endswith("again"):
        for argument in arguments:
            function(argument)
    started = time.perf_counter()
    found = sum(bool(function(argument)) for argument in arguments[1:])
    return (time.perf_counter() - started) / (len(arguments) - 1), found


if __name__ == "__main__":
    program, operation, parameters = sys.argv[1:]
    seconds, count = globals()[program](operation, json.loads(Path(parameters).read_text("utf-8")))
    # Not ru_maxrss: a process starts with that of the process which started it.
    status = Path("/proc/self/status").read_text("ascii")
    peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1])
    print(json.dumps({"seconds": seconds, "count": count, "peak": peak}))
