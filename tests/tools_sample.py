"""Sessions on built worlds, and the place of the shipped sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kdive.samples.world import KERNEL_PDB
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump

if TYPE_CHECKING:
    from kdive.samples.world import World

SAMPLE = Path(__file__).resolve().parent.parent / "src" / "kdive" / "samples" / "data"


def write_world(world: World, folder: Path, layout: str = "full", *, isf: bool = True) -> Session:
    """Write a world's dump and symbols into a folder and open a session on them."""
    folder.mkdir(parents=True, exist_ok=True)
    dump = folder / f"{layout}.dmp"
    dump.write_bytes(world.dump(layout))
    name, guid, age = KERNEL_PDB
    symbols = folder / "isf" / name / f"{guid}-{age}.json"
    symbols.parent.mkdir(parents=True, exist_ok=True)
    symbols.write_text(json.dumps(world.isf()), "utf-8")
    directories = (folder / "isf",) if isf else ()
    options = SessionOptions(symbol_path="", isf_directories=directories, offline=True, cache=folder / "cache")
    return Session(open_dump(dump), options)
