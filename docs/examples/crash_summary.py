"""Say in a few lines why a system crashed.

Usage: python crash_summary.py MEMORY.DMP [SYMBOL_PATH] [ISF_FOLDER]
"""

import sys

import kdive


def main(path: str, symbol_path: str = "", isf: str = "") -> None:
    with kdive.open_dump(path, symbol_path=symbol_path, isf=[isf] if isf else [], offline=True) as debugger:
        (verdict,) = debugger.command_results("!analyze")
        if verdict.bugcheck is not None:
            print(f"{verdict.bugcheck.name} ({verdict.bugcheck.code:#x}): {verdict.bugcheck.meaning}")
        print(f"blamed: {verdict.image_name} at {verdict.symbol_name}, confidence {verdict.confidence}")
        for entry in verdict.evidence:
            print(f"  {entry.reason}")


if __name__ == "__main__":
    main(*sys.argv[1:])
