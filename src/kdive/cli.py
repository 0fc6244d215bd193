"""The command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kdive.errors import KdiveError
    from kdive.frontends.opening import OpenRequest, SymbolRequest
    from kdive.frontends.shell import Shell
    from kdive.options import Where
    from kdive.session.owner import Owner
    from kdive.session.session import Session

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run kdive; return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in ("-V", "--version"):
        from kdive.version import __version__

        _print(f"kdive {__version__}")
        return EXIT_OK
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left (`kdive … | head`): nothing is wrong with us.
        _silence_stdout()
        return EXIT_OK


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _silence_stdout() -> None:
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


DESCRIPTIONS = {
    "debug": "A Windows kernel debugger that speaks WinDbg's command language.",
    "mcp": "Serve the debugger to MCP clients: on standard input and output, or over HTTP.",
    "symbols": "Look after symbol files: list, check, fetch, import.",
}
SUBCOMMANDS = ("mcp", "symbols")


def _parser(where: Where) -> argparse.ArgumentParser:
    import argparse

    from kdive.options import options_for

    parser = argparse.ArgumentParser(
        prog="kdive" if where == "debug" else f"kdive {where}",
        description=DESCRIPTIONS[where],
        epilog="Subcommands: " + ", ".join(f"kdive {name}" for name in SUBCOMMANDS) + "; each has --help."
        if where == "debug"
        else None,
        allow_abbrev=False,
    )
    if where == "debug":
        parser.add_argument("file", nargs="?", metavar="FILE", help="a dump file, as with --dump")
    if where == "symbols":
        from kdive.frontends.symbolstore import VERBS

        parser.add_argument(
            "verb", choices=VERBS, help="; ".join(f"{verb}: {meaning}" for verb, meaning in VERBS.items())
        )
        parser.add_argument("names", nargs="*", metavar="NAME", help="a dump, an image, a PDB, or NAME/KEY")
    for option in options_for(where):
        keywords: dict[str, Any] = {"dest": option.name, "help": option.description.replace("%", "%%")}
        if option.kind == "flag":
            keywords["action"] = "store_true"
        elif option.kind == "list":
            keywords |= {"action": "append", "metavar": option.metavar}
        else:
            keywords["metavar"] = option.metavar
            if option.choices:
                keywords["choices"] = option.choices
        parser.add_argument(*option.flags, **keywords)
    return parser


def _fill_in(values: argparse.Namespace) -> None:
    """Let the environment stand in for options that were not given; an empty value counts as given."""
    from kdive.options import OPTIONS

    for option in OPTIONS:
        if getattr(values, option.name, "") in (None, False):
            setattr(values, option.name, option.from_environment() or getattr(values, option.name))


def _symbols(values: argparse.Namespace) -> SymbolRequest:
    """Where symbols come from."""
    from kdive.frontends.opening import SymbolRequest

    return SymbolRequest(
        values.sympath,
        tuple(values.sympath_append or ()),
        tuple(values.pdb_server or ()),
        tuple(values.isf or ()),
        tuple(getattr(values, "srcpath", None) or ()),
        bool(values.offline),
    )


def _request(values: argparse.Namespace, symbols: SymbolRequest) -> OpenRequest | None:
    """What to open; None if nothing was named."""
    from kdive.frontends.opening import OpenRequest

    dump = values.dump or getattr(values, "file", None)
    record, replay = getattr(values, "record", None), getattr(values, "replay", None)
    backend = values.backend or ("kd" if replay else "dump" if dump else None)
    if backend is None:
        return None
    place = dump if backend == "dump" and dump else values.connect
    source = getattr(values, "memory_source", None) or "auto"
    return OpenRequest(backend, place, values.kdnet_key, symbols, record, replay, source)


def _main(arguments: list[str]) -> int:
    where: Any = arguments[0] if arguments and arguments[0] in SUBCOMMANDS else "debug"
    parser = _parser(where)
    try:
        values = parser.parse_args(arguments if where == "debug" else arguments[1:])
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    if values.version:
        return main(["--version"])
    _fill_in(values)
    symbols = _symbols(values)
    if where == "symbols":
        return _keep_symbols(values, symbols)
    request = _request(values, symbols)
    if where == "mcp":
        from kdive.frontends.mcp.serve import ServeOptions, serve

        options = ServeOptions(
            values.http,
            bool(values.unsafe_http),
            values.http_token_file,
            values.allow_host_files,
            bool(values.read_only),
            tuple(values.redact or ()),
        )
        return serve(request, symbols, options)
    if request is None:
        parser.print_usage(sys.stderr)
        sys.stderr.write("kdive: name a dump file: kdive MEMORY.DMP\n")
        return EXIT_USAGE
    return _debug(values, request)


def _keep_symbols(values: argparse.Namespace, symbols: SymbolRequest) -> int:
    from kdive.errors import KdiveError, UsageError
    from kdive.frontends.symbolstore import StoreKeeper
    from kdive.render.json import dumps

    keeper = StoreKeeper(symbols, lambda text, data: _print(dumps(data) if values.json_lines else text))
    try:
        if values.verb == "list":
            return keeper.list()
        if not values.names:
            raise UsageError(f"{values.verb} needs names", hint=f"kdive symbols {values.verb} MEMORY.DMP")
        if values.verb == "check":
            return keeper.check(values.names)
        if values.verb == "fetch":
            return keeper.fetch(values.names)
        return keeper.import_(values.names, values.to)
    except UsageError as error:
        _fail(error)
        return EXIT_USAGE
    except KdiveError as error:
        _fail(error)
        return EXIT_FAILED


def _fail(error: KdiveError) -> None:
    from kdive.render.console import error_text

    sys.stderr.write(error_text(error).plain() + "\n")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _debug(values: argparse.Namespace, request: OpenRequest) -> int:
    from kdive.errors import CancelledError, KdiveError, UsageError
    from kdive.frontends.leaving import ends_in_order
    from kdive.frontends.opening import open_session
    from kdive.session.owner import Owner

    if values.json and not values.batch:
        _fail(UsageError("--json belongs to --batch"))
        return EXIT_USAGE
    if values.batch and not values.commands:
        _fail(UsageError("--batch needs commands", hint="kdive --dump FILE --batch -c '!analyze'"))
        return EXIT_USAGE
    owner = Owner()
    with ends_in_order(owner):
        try:
            session = owner.open(lambda: open_session(request, owner.token, _say))
        except UsageError as error:
            _fail(error)
            return EXIT_USAGE
        except CancelledError:
            return EXIT_INTERRUPTED
        except KdiveError as error:
            _fail(error)
            return EXIT_FAILED
        return _converse(values, owner, session)


def _converse(values: argparse.Namespace, owner: Owner, session: Session) -> int:
    """Run the commands that were given, then those that are typed."""
    from kdive.errors import CancelledError, DeadlineError
    from kdive.frontends.shell import Shell

    for notice in owner.call(session.notices):
        sys.stderr.write(f"warning: {notice}\n")
    writer = _writer(values)
    shell = Shell(session, writer.result)
    failed = False
    for line in values.commands or ():
        outcome = owner.call(lambda line=line: writer.run(shell, line))
        failed |= outcome.error is not None
        if outcome.quit:
            return EXIT_FAILED if failed and values.batch else EXIT_OK
        if isinstance(outcome.error, CancelledError) and not isinstance(outcome.error, DeadlineError):
            # Ctrl+C ends the whole list: in batch mode the program, else what stands before the prompt.
            if values.batch:
                return EXIT_INTERRUPTED
            break
    if values.batch:
        return EXIT_FAILED if failed else EXIT_OK
    from kdive.frontends.repl.loop import run_repl

    return run_repl(owner, shell, writer, plain=bool(values.plain_repl))


def _writer(values: argparse.Namespace) -> TextWriter | JsonWriter:
    if values.json:
        return JsonWriter()
    return TextWriter(colour=sys.stdout.isatty() and not values.no_color)


class TextWriter:
    """Shows results as text, each line of commands behind its prompt.

    Args:
        colour: Whether standard output takes colour.
    """

    def __init__(self, *, colour: bool) -> None:
        from kdive.render.text import TextRenderer

        self._renderer = TextRenderer()
        self._colour = colour

    def result(self, command: str, result: Any) -> None:
        """Show a result."""
        del command
        if result is None:
            return
        text = self._renderer.render(result)
        shown = text.ansi() if self._colour else text.plain()
        if shown:
            _print(shown)
            sys.stdout.flush()

    def run(self, shell: Shell, line: str) -> Any:
        """Run a line that was given on the command line."""
        _print(f"{shell.prompt}{line}")
        # It may take long.
        sys.stdout.flush()
        return self.run_typed(shell, line)

    def run_typed(self, shell: Shell, line: str) -> Any:
        """Run a line that the user has typed, so that it is on the screen already."""
        from kdive.render.console import error_text

        outcome = shell.run(line)
        if outcome.error is not None:
            text = error_text(outcome.error, outcome.not_run)
            _print(text.ansi() if self._colour else text.plain())
        sys.stdout.flush()
        return outcome


class JsonWriter:
    """Shows one JSON object a line per command: ``{command, ok, error, result}``."""

    def result(self, command: str, result: Any) -> None:
        """Show a result."""
        self._write(command, None, result)

    def run(self, shell: Shell, line: str) -> Any:
        """Run a line."""
        from kdive.expr.commandline import split_commands

        outcome = shell.run(line)
        if outcome.error is not None:
            error = outcome.error
            details = {"what": str(error) if not error.where else error.what, "where": error.where, "hint": error.hint}
            self._write(outcome.failed, details, None)
            for command in split_commands(outcome.not_run):
                self._write(command, {"what": "not run", "where": None, "hint": None}, None)
        return outcome

    def run_typed(self, shell: Shell, line: str) -> Any:
        """Run a line."""
        return self.run(shell, line)

    @staticmethod
    def _write(command: str, error: dict[str, Any] | None, result: Any) -> None:
        from kdive.render.json import dumps

        _print(dumps({"command": command, "ok": error is None, "error": error, "result": result}))
        sys.stdout.flush()
