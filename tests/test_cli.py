"""The command line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kdive import cli
from kdive.version import __version__
from tests.conftest import AMDPPM
from tests.data import need
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

DUMP = str(SAMPLE / "crash.dmp")
SYMBOLS = ["--sympath", "", "--isf", str(SAMPLE / "isf"), "--offline"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_version_imports_next_to_nothing() -> None:
    counted = "print(len([name for name in sys.modules if 'kdive' in name]))"
    code = f"import sys; from kdive.cli import main; main(['--version']); {counted}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    version, count = done.stdout.split("\n")[:2]
    assert version == f"kdive {__version__}"
    assert int(count) <= 4


def test_batch_shows_each_line_behind_its_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--dump", DUMP, *SYMBOLS, "--batch", "-c", "k 1; .echo x", "-c", ".echo y")
    assert status == 0
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "0: kd> k 1; .echo x"
    assert "nt!KeBugCheckEx" in lines[2]
    assert lines[-2:] == ["0: kd> .echo y", "y"]
    assert "\x1b" not in out


def test_a_failing_command_gives_status_1_and_names_what_was_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, DUMP, *SYMBOLS, "--batch", "-c", "nope; lm", "-c", ".echo on")
    assert status == 1
    assert "error: unknown command 'nope'" in out
    assert "not run after that error: lm" in out
    assert out.endswith("on\n")


def test_json_gives_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--dump", DUMP, *SYMBOLS, "--batch", "--json", "-c", "k 2; nope; lm")
    assert status == 1
    objects = [json.loads(line) for line in out.splitlines()]
    assert [entry["command"] for entry in objects] == ["k 2", "nope", "lm"]
    assert [entry["ok"] for entry in objects] == [True, False, False]
    assert set(objects[0]) == {"command", "ok", "error", "result"}
    frame = objects[0]["result"]["frames"][1]
    assert {"index", "child_sp", "ip", "symbol", "module", "source", "how"} <= set(frame)
    assert frame["ip"].startswith("0xfffff8")
    assert frame["how"] == "unwind"
    assert objects[1]["error"]["hint"]
    assert objects[2]["error"]["what"] == "not run"


@pytest.mark.parametrize(
    "line", ["vertarget", "!analyze", "lm", "!process 0 0", "r", "dt nt!_EPROCESS @$proc", "u rip", "help"]
)
def test_every_result_has_a_json_form(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, DUMP, *SYMBOLS, "--batch", "--json", "-c", line)
    (entry,) = [json.loads(text) for text in out.splitlines()]
    assert entry["ok"]
    assert entry["result"]


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["nothing.dmp", "--batch", "-c", "k"], 1, "error: no such file (nothing.dmp)"),
        ([str(SAMPLE), "--batch", "-c", "k"], 1, "not a dump file"),
        ([__file__, "--batch", "-c", "k"], 1, "error: not a Windows kernel dump"),
        (["--batch", "--dump", DUMP], 2, "--batch needs commands"),
        (["--json", "--dump", DUMP], 2, "--json belongs to --batch"),
        (["-b", "gdb", "--connect", "x:1"], 1, "not in this release"),
        (["-b", "kd", "--batch", "-c", "k"], 2, "needs to know where the target is"),
        (["-b", "kd", "--connect", "/nowhere/kd.sock", "--batch", "-c", "k"], 1, "cannot reach the target"),
        (["-b", "kd", "--connect", __file__, "--batch", "-c", "k"], 2, "neither a socket nor a serial device"),
        (["-b", "nonsense"], 2, "invalid choice"),
        (["--nonsense"], 2, "unrecognized arguments"),
        ([], 2, "name a dump file"),
    ],
)
def test_mistakes_are_named(arguments: list[str], status: int, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, _, err = run(capsys, *arguments)
    assert found == status
    assert part in err
    assert "Traceback" not in err


def test_an_incomplete_dump_is_announced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "cut.dmp"
    place.write_bytes((SAMPLE / "crash.dmp").read_bytes()[:0x10000])
    status, out, err = run(capsys, str(place), *SYMBOLS, "--batch", "-c", ".bugcheck")
    assert status == 0
    assert "warning: the dump is incomplete: it lacks" in err
    assert "D1" in out


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m kdive {DUMP} --offline --batch -c help -c help -c help | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr


def test_lines_from_a_pipe_are_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kdive", DUMP, *SYMBOLS],
        input="? 1+1\nnope\n.echo still here\nq\n.echo never\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "= 00000000`00000002" in done.stdout
    assert "error: unknown command" in done.stdout
    assert "still here" in done.stdout
    assert "never" not in done.stdout


def test_the_verdict_on_a_real_dump_needs_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    dump, store, isf = need(AMDPPM), need("symbols/store"), need("symbols/isf")
    arguments = ["--dump", str(dump), "--sympath", str(store), "--isf", str(isf), "--offline", "--batch"]
    status, out, _ = run(capsys, *arguments, "-c", "!analyze -v; k; lm")
    assert status == 0
    assert "IMAGE_NAME:  amdppm.sys" in out
    assert "amdppm!WriteIoMemRawEx" in out


def test_a_symbol_server_that_never_answers_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    """The fetcher's thread meets the dead server; opening and analysing ask nothing of it."""
    import socket
    import threading

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]

        def accept() -> None:
            with contextlib.suppress(OSError), server.accept()[0]:
                finished.wait(30)

        finished = threading.Event()
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        status, out, _ = run(
            capsys, DUMP, "--sympath", f"srv*http://127.0.0.1:{port}/", "--batch", "-c", "!analyze; lm; k"
        )
        assert status == 0
        assert "faulty.sys" in out
        finished.set()


def test_kdive_home_holds_everything_that_is_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environment = {**os.environ, "HOME": str(home), "KDIVE_HOME": str(tmp_path / "own"), "PYTHONDONTWRITEBYTECODE": "1"}
    home.mkdir()
    subprocess.run(
        [sys.executable, "-m", "kdive", DUMP, *SYMBOLS, "--batch", "-c", "!analyze"],
        check=True,
        capture_output=True,
        env=environment,
        timeout=60,
    )
    assert list(home.iterdir()) == []
    assert (tmp_path / "own" / "cache").is_dir()


def test_an_interrupt_in_batch_mode_ends_the_program_with_130() -> None:
    lines = ["-c", ".echo ready; .sleep 0n3600000; .echo rest", "-c", ".echo next"]
    with subprocess.Popen(
        [sys.executable, "-m", "kdive", DUMP, *SYMBOLS, "--batch", *lines], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)][1] == "ready\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(60) == 130
    assert "error: cancelled" in rest
    assert "next" not in rest


def test_an_empty_symbol_path_beats_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_NT_SYMBOL_PATH", "srv*http://127.0.0.1:9/")
    _, out, _ = run(capsys, DUMP, *SYMBOLS, "--batch", "-c", ".sympath")
    assert "127.0.0.1" not in out
    _, out, _ = run(capsys, DUMP, "--offline", "--batch", "-c", ".sympath")
    assert "127.0.0.1" in out


def test_reading_memory_from_the_host_is_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "-b", "kd", "--connect", "/nowhere.sock", "--memory-source", "host")
    assert (status, out) == (1, "")
    assert "not in this release" in err
    assert "--memory-source kd" in err
