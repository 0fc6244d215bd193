"""Attach to a live guest, stop at a function, show its callers, and step.

Usage: python break_and_step.py WHERE FUNCTION [SYMBOL_PATH]
"""

from __future__ import annotations

import sys

import kdive


def main(where: str, function: str, symbol_path: str | None = None) -> None:
    # Leaving the block takes the breakpoints out and lets the guest run on.
    with kdive.attach(where, symbol_path=symbol_path, offline=symbol_path is not None) as dbg:
        dbg.breakpoints.add(function)
        match dbg.run(timeout=60):
            case kdive.BreakpointHit() as hit:
                print(f"breakpoint {hit.id} at {hit.symbol}")
            case None:
                print("nobody called it within a minute")
                return
            case other:
                print(f"stopped for another reason: {other}")
        for frame in dbg.stack(limit=5):
            print(f"  {frame.symbol}")
        for _ in range(3):
            print(f"stepped to {dbg.step().symbol}")


if __name__ == "__main__":
    main(*sys.argv[1:])
