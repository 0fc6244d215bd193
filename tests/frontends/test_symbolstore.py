"""``kdive symbols``: looking after the local stores."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from typing import TYPE_CHECKING

import pytest

from kdive import cli
from kdive.symbols.inventory import add_file
from tests.conftest import AMDPPM
from tests.data import need

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PDB = "amdppm.pdb/1C19FDDB27BB3399D9B45973EFEAFCF31"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KDIVE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("_NT_SYMBOL_PATH", raising=False)
    return tmp_path / "home"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A symbol server that has what the real store has."""
    for path in need("symbols/store").glob("*/*/*"):
        add_file(path, tmp_path / "served", tmp_path)
    handler = functools.partial(Quiet, directory=str(tmp_path / "served"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, object]], str]:
    status = cli.main(["symbols", *arguments, "--json"])
    captured = capsys.readouterr()
    return status, [json.loads(line) for line in captured.out.splitlines()], captured.err


def test_what_is_imported_is_listed_found_and_used(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    isf = next(need("symbols/isf/windows").rglob("*.json.xz"))
    pdb, image = need(f"symbols/store/{PDB}/amdppm.pdb"), need("symbols/store/amdppm.sys/c9c030003b000/amdppm.sys")
    status, rows, _ = run(capsys, "import", str(pdb), str(image), str(isf))
    assert status == 0
    assert [row["path"] for row in rows] == [
        str(home / "cache" / "symbols" / PDB / "amdppm.pdb"),
        str(home / "cache" / "symbols" / "amdppm.sys" / "C9C030003b000" / "amdppm.sys"),
        str(home / "cache" / "isf" / "windows" / "ntkrnlmp.pdb" / isf.name),
    ]
    status, rows, _ = run(capsys, "list", "--offline")
    assert status == 0
    assert [(row["name"], row["size"]) for row in rows] == [
        ("amdppm.pdb", pdb.stat().st_size),
        ("amdppm.sys", image.stat().st_size),
    ]
    status, rows, _ = run(capsys, "check", str(image), "--offline")
    assert (status, [row["state"] for row in rows]) == (0, ["found"])
    status, rows, _ = run(capsys, "check", str(need(AMDPPM)), "--offline")
    assert {row["owner"] for row in rows if row["state"] == "found"} >= {"amdppm"}


def test_a_dump_is_fetched_for_in_two_rounds(capsys: pytest.CaptureFixture[str], address: str, tmp_path: Path) -> None:
    """A small dump knows only the image's key; the image then names its PDB."""
    path = f"srv*{tmp_path / 'cache'}*{address}"
    status, rows, err = run(capsys, "fetch", str(need(AMDPPM)), "--sympath", path)
    assert status == 1
    assert "3 have come" in err
    assert (tmp_path / "cache" / PDB / "amdppm.pdb").exists()
    missing = {row["owner"]: row for row in rows}
    assert "amdppm" not in missing
    assert missing["Wdf01000"]["state"] == "missing"
    assert str(missing["Wdf01000"]["advice"]).startswith(
        f"fetch {address}/Wdf01000.pdb/6D6E9C327875C47856AC7DA750AB1C5E1/"
    )


def test_another_build_is_refused_with_both_identities(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = tmp_path / "amdppm.pdb"
    wrong.write_bytes(need("symbols/pairs/ksi-amd64/ksi.pdb").read_bytes())
    status, rows, _ = run(capsys, "check", PDB, "--sympath", str(tmp_path), "--offline")
    assert (status, rows[0]["state"]) == (1, "mismatched")
    assert rows[0]["problems"] == [
        f"{wrong}: is BB6CC84C4440748B563EEDDBECB095A21, wanted is 1C19FDDB27BB3399D9B45973EFEAFCF31"
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (("check",), 2, "check needs names"),
        (("check", "nothing"), 1, "neither a file nor NAME/KEY: nothing"),
        (("fetch", PDB, "--offline"), 2, "--offline forbids fetching"),
        (("check", __file__), 1, "does not start with MZ"),
    ],
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], status: int, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, rows, err = run(capsys, *arguments)
    assert (found, rows) == (status, [])
    assert part in err


def test_a_file_that_cannot_be_imported_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    pdb = need("symbols/pairs/ksi-amd64/ksi.pdb")
    status, rows, _ = run(capsys, "import", __file__, str(pdb))
    assert status == 1
    assert "neither a PDB nor a PE image" in str(rows[0]["error"])
    assert str(rows[1]["path"]).endswith("ksi.pdb/BB6CC84C4440748B563EEDDBECB095A21/ksi.pdb")
