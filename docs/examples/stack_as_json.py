"""Print the stack at the exception as JSON.

Usage: python stack_as_json.py MEMORY.DMP [SYMBOL_PATH] [ISF_FOLDER]
"""

import contextlib
import json
import sys

import kdive


def main(path: str, symbol_path: str = "", isf: str = "") -> None:
    with kdive.open_dump(path, symbol_path=symbol_path, isf=[isf] if isf else [], offline=True) as debugger:
        # Where no exception is recorded, the stack is that of the processor.
        with contextlib.suppress(kdive.KdiveError):
            debugger.command(".ecxr")
        frames = [
            {"ip": f"{frame.ip:#x}", "sp": f"{frame.child_sp:#x}", "symbol": frame.symbol, "how": frame.how}
            for frame in debugger.stack()
        ]
        print(json.dumps(frames, indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:])
