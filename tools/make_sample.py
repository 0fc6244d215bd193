"""Make the sample dump and its symbols.

Usage: python tools/make_sample.py [DIRECTORY]
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

from kdive.samples.world import KERNEL_PDB, build_world

DEFAULT = Path(__file__).resolve().parent.parent / "src" / "kdive" / "samples" / "data"


def make(directory: Path) -> None:
    """Write ``crash.dmp`` and ``isf/windows/<pdb>/<GUID>-<age>.json.xz``."""
    world = build_world()
    name, guid, age = KERNEL_PDB
    symbols = directory / "isf" / "windows" / name / f"{guid}-{age}.json.xz"
    symbols.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(world.isf(), sort_keys=True, indent=0).encode()
    symbols.write_bytes(lzma.compress(text, preset=9))
    (directory / "crash.dmp").write_bytes(world.dump())


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
