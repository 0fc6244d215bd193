"""Commands that the server does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kdive.frontends.mcp.policy import Policy, make_policy
from kdive.session.hostfiles import HostFiles
from kdive.targets.dump import DumpTarget
from tests.frontends.mcp.support import OPEN, text, with_client, with_toolbox

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.frontends.mcp.toolbox import Toolbox

WORDS = ("g", "gh", "gn", "p", "pa", "pc", "pt", "ph", "ta", "tc", "tt", "th", "gu", "wt", ".reboot", ".crash")


@pytest.mark.parametrize("word", WORDS)
def test_every_command_that_runs_the_target_is_refused(word: str) -> None:
    async def work(client: Any) -> None:
        refused = await client.call_tool("command", {"line": word})
        assert refused.is_error
        assert f"{word} is refused" in text(refused)
        assert "resume tool, then wait_for_stop" in text(refused)

    with_client(work)


@pytest.mark.parametrize(
    "line",
    [
        ".echo seen; g",
        "~0 g",
        "~* gh",
        "g=fffff80000201030",
        "p 3",
        ".REBOOT",
        ".if (1) { .echo seen; g }",
        ".if (0) { .echo seen } .else { p }",
        ".for (r $t0=0; @$t0<1; g) { .echo seen }",
        ".foreach (a { g }) { .echo seen }",
        '.foreach /s (a "x") { .echo seen; gu }',
        ".while (1) { g }",
        ".do { g } (1)",
        ".block { .catch { g } }",
        "{ g }",
        "j (1) g ; .echo seen",
        "j (0) '.echo seen' ; 'g'",
        "z (1); .echo seen; g",
        "go; .echo seen",
        '!for_each_module ".echo seen; g"',
        'bp nt!KeBugCheckEx ".echo seen; g"',
    ],
)
def test_they_are_refused_anywhere_in_a_line_before_any_of_it_runs(line: str) -> None:
    async def work(client: Any) -> None:
        await client.call_tool("command", {"line": "as go g"})
        refused = await client.call_tool("command", {"line": line})
        assert refused.is_error
        assert "is refused" in text(refused)
        assert not text(refused).startswith("seen")

    with_client(work)


@pytest.mark.parametrize(
    "line",
    [
        '.foreach /s (a "g") { a }',
        '.foreach /s (a ".shell") { ${a} ls }',
        "as later g\nlater",
    ],
)
def test_what_only_running_shows_is_refused_then(line: str) -> None:
    async def work(client: Any) -> None:
        refused = await client.call_tool("command", {"line": line})
        assert refused.is_error
        assert "is refused" in text(refused)

    with_client(work)


@pytest.mark.parametrize("line", ["t", "si", ".echo g", "* g", "? g", "r $t0 = 1; .echo p"])
def test_one_instruction_and_mere_mentions_are_not_refused(line: str) -> None:
    async def work(client: Any) -> None:
        assert "is refused" not in text(await client.call_tool("command", {"line": line}))

    with_client(work)


def test_programs_of_the_host_are_never_run() -> None:
    async def work(client: Any) -> None:
        for line in (".shell ls", ".SHELL", ".if (1) { .shell ls }"):
            refused = await client.call_tool("command", {"line": line})
            assert refused.is_error
            assert "this server runs no programs" in text(refused)

    with_client(work)


def test_files_of_the_host_are_off_limits_by_default(tmp_path: Path) -> None:
    target = tmp_path / "out"
    script = tmp_path / "script"
    script.write_text("secret words\n")
    lines = [
        f".logopen {target}",
        f".logappend {target}",
        f".writemem {target} rsp L10",
        f"$$><{script}",
        f"$$>a<{script} x",
        f'.foreach /f (a "{script}") {{ .echo a }}',
        f".sympath srv*{target}*https://symbols.example",
        f".symfix {target}",
    ]

    async def work(client: Any) -> None:
        for line in lines:
            refused = await client.call_tool("command", {"line": line})
            assert refused.is_error, line
            assert "--allow-host-files" in text(refused), line
            assert "secret" not in text(refused), line
        assert not (await client.call_tool("command", {"line": f".sympath {tmp_path}"})).is_error

    with_client(work)
    assert not target.exists()


def test_with_a_folder_files_are_confined_to_it(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "file").symlink_to(outside / "file")
    policy = make_policy(str(inside), read_only=False, redact=())

    async def work(client: Any) -> None:
        for name in ("ok.bin", str(inside / "ok2.bin")):
            assert not (await client.call_tool("command", {"line": f'.writemem "{name}" rsp L10'})).is_error
        for name in ("../outside/a", "link/a", "file", str(outside / "a"), "/etc/kdive-test", "~/a"):
            refused = await client.call_tool("command", {"line": f'.writemem "{name}" rsp L10'})
            assert refused.is_error
            assert "outside the folder for host files" in text(refused)
        (inside / "script").write_text(".echo from the script\n")
        assert text(await client.call_tool("command", {"line": "$$><script"})).startswith("from the script\n")

    with_client(work, policy=policy)
    assert sorted(path.name for path in inside.iterdir()) == ["file", "link", "ok.bin", "ok2.bin", "script"]
    assert not list(outside.iterdir())


def test_a_read_only_server_takes_the_right_to_change_from_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    from kdive.frontends.mcp.refusal import WRITES

    # A dump has none of these rights; this one claims them.
    original = DumpTarget.__init__

    def writable(self: DumpTarget, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        self.capabilities = self.capabilities | WRITES

    monkeypatch.setattr(DumpTarget, "__init__", writable)

    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        capabilities = await box.slot.run(lambda desk: desk.session.target.capabilities, "look")
        assert not capabilities & WRITES
        refused = await box.call("command", {"line": ".readmem x 0"})
        assert refused.is_error

    with_toolbox(work, policy=Policy(HostFiles(), read_only=True))
