"""The read-only tools: each is one command, its result as data, and its rows in pages.

A query declares which command answers it and which type that command returns. The arguments' schema, the checks, the
result's schema, the paging and the text all follow from the declaration. Expressions are evaluated first and put into
the command as numbers, so that no argument can turn into another command.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import structs

from kdive.commands.results.analysis import Verdict
from kdive.commands.results.code import Listing
from kdive.commands.results.kernel import ProcessCard, ProcessList
from kdive.commands.results.memory import MemoryDisplay
from kdive.commands.results.modules import ModuleList
from kdive.commands.results.stack import Registers, Stack
from kdive.commands.results.symbols import SymbolList
from kdive.commands.results.types import EnumLayout, TypeLayout, TypeNames
from kdive.errors import CommandError, MemoryAccessError
from kdive.frontends.mcp.schema import result_schema
from kdive.frontends.mcp.tool import ArgumentError, Call, Tool, ToolResult, choice, expression, integer
from kdive.record import Record, field
from kdive.render.json import to_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.frontends.mcp.desk import Desk

_MAX_ROWS = 1000
_MAX_OFFSET = 1_000_000
_NAME = re.compile(r"[^\s;\"{}\x00-\x1f]{1,500}")
_ELEMENTS = {"byte": ("db", 1), "word": ("dw", 2), "dword": ("dd", 4), "qword": ("dq", 8)}

Arguments = dict[str, Any]


class Query(Record, frozen=True):
    """A read-only tool.

    Attributes:
        name: The tool's name.
        title: For people.
        description: For models.
        command: Builds the command from the arguments.
        results: Types that the command may return.
        rows: Names of the fields that hold the rows, one for each type; empty if a result has none.
        properties: Schemas of its own arguments.
        required: Those that must be given.
        limit: Rows on a page unless the client says otherwise.
        pick: Takes the answer out of the command's result.
        present: Puts a page back into what the renderer takes.
    """

    name: str
    title: str
    description: str
    command: Callable[[Desk, Arguments], str]
    results: tuple[type[Record], ...]
    rows: tuple[str, ...] = ()
    properties: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    required: tuple[str, ...] = ()
    limit: int = 100
    pick: Callable[[Any], Any] = lambda result: result
    present: Callable[[Any], Any] = lambda result: result

    @property
    def tool(self) -> Tool:
        """The tool that it makes."""
        properties = self.properties
        if self.rows:
            properties = properties | {
                "offset": integer("first row", 0, _MAX_OFFSET, 0),
                "limit": integer("most rows", 1, _MAX_ROWS, self.limit),
            }

        async def handler(call: Call) -> ToolResult:
            return await _answer(self, call)

        schema = result_schema(*self.results, paged=bool(self.rows))
        return Tool(self.name, self.title, self.description, handler, properties, self.required, output=schema)


async def _answer(query: Query, call: Call) -> ToolResult:
    def work(desk: Desk) -> ToolResult:
        result = query.pick(desk.result_of(query.command(desk, call.arguments)))
        footer, extra = "", dict[str, Any]()
        if query.rows:
            result, page = _page(query, result, call.arguments["offset"], call.arguments["limit"])
            extra = {"page": page}
            footer = _footer(page)
        cleaner = call.box.cleaner
        shown = cleaner.body(desk.render(query.present(result)))
        data = cleaner.data(to_data(result)) | extra
        return ToolResult(f"{shown}\n{footer}" if footer else shown, data=data)

    answer = await call.box.slot.run(work, query.name, call.progress)
    return ToolResult(call.box.outputs.first_page(answer.text), data=answer.data)


def _page(query: Query, result: Any, offset: int, limit: int) -> tuple[Any, dict[str, Any]]:
    """Cut a result's rows to a page."""
    name = query.rows[query.results.index(type(result))]
    rows: list[Any] | dict[str, Any] = getattr(result, name)
    total = len(rows)
    end = offset + limit
    shown: list[Any] | dict[str, Any] = (
        rows[offset:end] if isinstance(rows, list) else dict(islice(rows.items(), offset, end))
    )
    following = offset + len(shown) if offset + len(shown) < total else None
    page = {"offset": offset, "shown": len(shown), "total": total, "next_offset": following}
    return structs.replace(result, **{name: shown}), page


def _footer(page: dict[str, Any]) -> str:
    """A line that says what a page leaves out; empty if it is everything."""
    if page["shown"] == page["total"]:
        return ""
    first, shown = page["offset"], page["shown"]
    rows = f"rows {first}-{first + shown - 1}" if shown else "rows none"
    more = f"; next offset {page['next_offset']}" if page["next_offset"] is not None else ""
    return f"[{rows} of {page['total']}{more}]"


def _number(desk: Desk, value: int | str) -> str:
    """An argument as a number that means the same in every command and radix: JSON numbers are decimal."""
    return f"0x{value if isinstance(value, int) else desk.evaluate(value):x}"


def _word(what: str, value: str) -> str:
    if value.startswith(("-", "/")) or not _NAME.fullmatch(value):
        raise ArgumentError(f"{what} must be one word without quotes, braces or ;")
    return value


def _analyze(desk: Desk, arguments: Arguments) -> str:
    del desk, arguments
    return "!analyze -v"


def _modules(desk: Desk, arguments: Arguments) -> str:
    del desk
    name = _word("pattern", arguments["pattern"])
    return f"{'lmv' if arguments['details'] else 'lm'} m {name}"


def _processes(desk: Desk, arguments: Arguments) -> str:
    del desk
    name = arguments.get("name")
    return f"!process 0 0 {_image_name(name)}" if name else "!process 0 0"


def _image_name(name: str) -> str:
    if re.fullmatch(r"(0n|0x)?[0-9a-fA-F`]+|[-@$(].*", name):
        raise ArgumentError("name must be an image name, such as lsass.exe")
    return _word("name", name)


def _threads(desk: Desk, arguments: Arguments) -> str:
    process = arguments.get("process")
    return f"!process {'-1' if process is None else _number(desk, process)} 2"


def _stack(desk: Desk, arguments: Arguments) -> str:
    thread = arguments.get("thread")
    return "kn ff" if thread is None else f"!thread {_number(desk, thread)}"


def _thread_stack(result: Any) -> Stack:
    if isinstance(result, Stack):
        return result
    if result.stack is None:
        raise CommandError(result.notice or "the thread has no stack in the target")
    return result.stack


def _registers(desk: Desk, arguments: Arguments) -> str:
    del desk
    names = arguments.get("names")
    if names is None:
        return "r"
    words = re.split(r"[\s,]+", names.strip())
    if not all(re.fullmatch(r"[@$]{0,2}\w{1,16}", word) for word in words):
        raise ArgumentError("names must be register names parted by commas")
    return f"r {', '.join(words)}"


def _read_memory(desk: Desk, arguments: Arguments) -> str:
    command, _ = _ELEMENTS[arguments["element"]]
    if arguments["physical"]:
        command = f"!{command}"
    return f"{command} {_number(desk, arguments['address'])} L0x{arguments['count']:x}"


def _readable(result: MemoryDisplay) -> MemoryDisplay:
    """A display in which anything could be read.

    Raises:
        MemoryAccessError: Nothing could.
    """
    if any(value is not None for row in result.rows for value in row.values):
        return result
    count = sum(len(row.values) for row in result.rows)
    start = result.rows[0].address if result.rows else 0
    raise MemoryAccessError(start, count * result.size, "not in the target's readable memory")


def _disassemble(desk: Desk, arguments: Arguments) -> str:
    address = _number(desk, arguments["address"])
    if arguments["function"]:
        return f"uf {address}"
    return f"u {address} L0x{arguments['count']:x}"


def _symbols(desk: Desk, arguments: Arguments) -> str:
    del desk
    return f"x /v {_word('pattern', arguments['pattern'])}"


def _type_layout(desk: Desk, arguments: Arguments) -> str:
    name = _word("type", arguments["type"])
    address = arguments.get("address")
    depth = f"-r{arguments['depth']} " if arguments["depth"] else ""
    return f"dt {depth}{name}{'' if address is None else f' {_number(desk, address)}'}"


def _identity(description: str) -> dict[str, Any]:
    return {"type": ["integer", "string"], "maxLength": 1000, "description": description}


_FLAG = {"type": "boolean", "default": False}
QUERIES: tuple[Query, ...] = (
    Query(
        "analyze",
        "Analyse the crash",
        "Why the system crashed: bugcheck, faulting instruction, the driver to blame with evidence and confidence, "
        "stack. Command: !analyze -v",
        _analyze,
        (Verdict,),
    ),
    Query(
        "stack",
        "Show a call stack",
        "The call stack of the present scope, or of a thread. `how` tells how a frame was found; `scan` is a guess. "
        "Commands: kn, !thread",
        _stack,
        (Stack,),
        ("frames",),
        {"thread": _identity("thread id (decimal number) or address (expression)")},
        limit=50,
        pick=_thread_stack,
    ),
    Query(
        "registers",
        "Show registers",
        "Registers of the present scope (.ecxr, .cxr, .frame and .thread choose it). Command: r",
        _registers,
        (Registers,),
        properties={"names": expression("only these, parted by commas")},
    ),
    Query(
        "modules",
        "List modules",
        "Loaded modules, where they lie and which symbols are used; details loads symbols, and says what is missing. "
        "Commands: lm, lmv",
        _modules,
        (ModuleList,),
        ("modules",),
        {"pattern": expression("wildcard for names") | {"default": "*"}, "details": _FLAG},
    ),
    Query(
        "processes",
        "List processes",
        "Processes of the target. Command: !process 0 0",
        _processes,
        (ProcessList,),
        ("processes",),
        {"name": expression("only this image name")},
    ),
    Query(
        "threads",
        "List the threads of a process",
        "A process with its threads and what they wait for. Command: !process <process> 2",
        _threads,
        (ProcessCard,),
        ("threads",),
        {"process": _identity("pid (decimal number) or address (expression); default: the current one")},
        limit=50,
        pick=lambda result: result.processes[0],
        present=lambda card: ProcessList([card]),
    ),
    Query(
        "read_memory",
        "Read memory",
        "Read memory as hex elements; null where unreadable. Commands: db, dw, dd, dq, !db …",
        _read_memory,
        (MemoryDisplay,),
        ("rows",),
        {
            "address": expression("where: an address or expression such as `rsp+20`"),
            "count": integer("how many elements", 1, 16384, 64),
            "element": choice("size of one", tuple(_ELEMENTS), "byte"),
            "physical": _FLAG | {"description": "the address is physical"},
        },
        ("address",),
        pick=_readable,
    ),
    Query(
        "disassemble",
        "Disassemble code",
        "Instructions from an address, or the whole function around it. Commands: u, uf",
        _disassemble,
        (Listing,),
        ("lines",),
        {
            "address": expression("where: an address or expression such as `nt!KeBugCheckEx`"),
            "count": integer("how many instructions", 1, 10000, 16),
            "function": _FLAG | {"description": "the whole function"},
        },
        ("address",),
    ),
    Query(
        "symbols",
        "Find symbols",
        "Symbols that match a wildcard. Command: x /v",
        _symbols,
        (SymbolList,),
        ("symbols",),
        {"pattern": expression("such as `nt!Ki*Interrupt*`")},
        ("pattern",),
    ),
    Query(
        "type_layout",
        "Show a type",
        "A structure's members, with values if an address is given; an enumeration's constants; or the types that "
        "match a wildcard. Command: dt",
        _type_layout,
        (TypeLayout, EnumLayout, TypeNames),
        ("fields", "constants", "types"),
        {
            "type": expression("such as `nt!_EPROCESS` or `nt!_KT*`"),
            "address": expression("where the structure lies"),
            "depth": integer("how deep to show inner structures", 0, 4, 0),
        },
        ("type",),
        limit=300,
    ),
)
