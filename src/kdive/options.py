"""The command line's options as data: argparse, help and the manual are made from this one table."""

from __future__ import annotations

import os
from typing import Literal

from kdive.record import Record

Where = Literal["debug", "mcp", "symbols", "both", "all"]
Kind = Literal["text", "list", "flag"]


class Option(Record, frozen=True):
    """One option.

    Attributes:
        name: Name of the value, as code reads it.
        flags: Spellings on the command line.
        help: What it does, in a line.
        kind: ``text`` takes a value, ``list`` a value each time it is given, ``flag`` none.
        metavar: What the value is called in help.
        environment: Variable that stands in when the option is not given, empty if there is none.
        choices: The values that are allowed; empty if any is.
        default: The default in words, for help and the manual.
        where: Which command lines take it; ``both`` means debug and mcp, ``all`` means ``kdive symbols`` too.
    """

    name: str
    flags: tuple[str, ...]
    help: str
    kind: Kind = "text"
    metavar: str = ""
    environment: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""
    where: Where = "both"

    @property
    def description(self) -> str:
        """Help with the default and the variable."""
        notes = [f"default: {self.default}"] if self.default else []
        if self.environment:
            notes.append(f"environment: {self.environment}")
        return f"{self.help} ({'; '.join(notes)})" if notes else self.help

    def from_environment(self) -> str | list[str] | bool | None:
        """The value that the environment gives, None if it gives none."""
        value = os.environ.get(self.environment) if self.environment else None
        if not value:
            return None
        if self.kind == "flag":
            return value != "0"
        if self.kind == "list":
            return [piece for piece in value.split(os.pathsep) if piece]
        return value


BACKENDS = ("kd", "kdnet", "gdb", "memory", "dump")
AVAILABLE_BACKENDS = ("kd", "dump")

OPTIONS: tuple[Option, ...] = (
    Option("version", ("-V", "--version"), "show the version and leave", "flag", where="all"),
    Option("dump", ("--dump",), "open a kernel dump file", metavar="FILE"),
    Option(
        "backend",
        ("-b", "--backend"),
        "how to reach the target; this release has kd and dump",
        metavar="BACKEND",
        choices=BACKENDS,
        default="dump",
    ),
    Option("connect", ("--connect",), "where the target is: a socket, an address, a file", metavar="WHERE"),
    Option(
        "record",
        ("--record",),
        "with the kd backend: write what crosses the wire to a new file, which then holds memory of the target",
        metavar="FILE",
        where="debug",
    ),
    Option(
        "replay",
        ("--replay",),
        "let a recording of --record stand in for the target",
        metavar="FILE",
        where="debug",
    ),
    Option("kdnet_key", ("--kdnet-key",), "the key of a KDNET target", metavar="KEY", environment="KDIVE_KDNET_KEY"),
    Option(
        "memory_source",
        ("--memory-source",),
        "where guest memory is read: from the host, or through the debug transport",
        metavar="SOURCE",
        choices=("auto", "host", "kd"),
        default="auto",
        where="debug",
    ),
    Option(
        "commands",
        ("-c", "--command"),
        "run a line of commands at the start; may be given several times",
        "list",
        metavar="COMMANDS",
        where="debug",
    ),
    Option("to", ("--to",), "with import: the folder to copy to", metavar="FOLDER", where="symbols"),
    Option("batch", ("--batch",), "leave after the -c commands; status 1 if one failed", "flag", where="debug"),
    Option("json", ("--json",), "with --batch: one JSON object per command", "flag", where="debug"),
    Option("json_lines", ("--json",), "one JSON object a line", "flag", where="symbols"),
    Option("plain_repl", ("--plain-repl",), "read lines without editing, completion or colour", "flag", where="debug"),
    Option(
        "sympath",
        ("--sympath",),
        "symbol path, in WinDbg's syntax",
        metavar="PATH",
        environment="_NT_SYMBOL_PATH",
        default="the cache, then Microsoft's server",
        where="all",
    ),
    Option(
        "sympath_append",
        ("--sympath-append",),
        "folder or path element to add to the symbol path; may be given several times",
        "list",
        metavar="PATH",
        where="all",
    ),
    Option(
        "pdb_server",
        ("--pdb-server",),
        "symbol server to add to the symbol path; may be given several times",
        "list",
        metavar="URL",
        where="all",
    ),
    Option(
        "isf",
        ("--isf",),
        "folder with Volatility 3 symbol files; may be given several times",
        "list",
        metavar="FOLDER",
        environment="KDIVE_ISF",
        where="all",
    ),
    Option(
        "srcpath",
        ("--srcpath",),
        "source root, or PREFIX=ROOT; may be given several times",
        "list",
        metavar="ROOT",
        environment="KDIVE_SRCPATH",
    ),
    Option("offline", ("--offline",), "never use the network", "flag", environment="KDIVE_OFFLINE", where="all"),
    Option("http", ("--http",), "serve Streamable HTTP at this address, path /mcp", metavar="HOST:PORT", where="mcp"),
    Option(
        "unsafe_http",
        ("--unsafe-http",),
        "with --http: listen for other machines too, and answer any Host and Origin",
        "flag",
        where="mcp",
    ),
    Option(
        "http_token_file",
        ("--http-token-file",),
        "with --http: clients must send the token in this file as `Authorization: Bearer`",
        metavar="FILE",
        where="mcp",
    ),
    Option(
        "allow_host_files",
        ("--allow-host-files",),
        "folder in which commands may read and write files (.writemem, .logopen, scripts)",
        metavar="FOLDER",
        default="none",
        where="mcp",
    ),
    Option("read_only", ("--read-only",), "refuse whatever changes the target", "flag", where="mcp"),
    Option(
        "redact",
        ("--redact",),
        "replace what matches in all results; a regular expression, or a file with one on each line",
        "list",
        metavar="REGEX|FILE",
        where="mcp",
    ),
    Option("no_color", ("--no-color",), "no colour", "flag", environment="NO_COLOR", where="debug"),
)


def options_for(where: Where) -> list[Option]:
    """The options of a command line."""
    wider = ("all",) if where == "symbols" else ("both", "all")
    return [option for option in OPTIONS if option.where in (where, *wider)]
