"""List the modules on the crashing stack whose symbols are missing, and where to get them.

Usage: python missing_symbols.py MEMORY.DMP [SYMBOL_PATH] [ISF_FOLDER]
"""

import sys

import kdive


def main(path: str, symbol_path: str = "", isf: str = "") -> None:
    with kdive.open_dump(path, symbol_path=symbol_path, isf=[isf] if isf else [], offline=True) as debugger:
        names = {frame.module for frame in debugger.stack() if frame.module}
        for name in sorted(names):
            (listing,) = debugger.command_results(f"lmvm {name}")
            for module in listing.modules:
                print(f"{module.name:<16} {module.symbols:<16} {module.advice}")


if __name__ == "__main__":
    main(*sys.argv[1:])
