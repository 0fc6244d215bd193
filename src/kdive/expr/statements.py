"""The statements of the command language: commands, branches, loops, blocks, script files.

A statement is parsed only when it is about to run, because aliases that the commands before it define may change it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from kdive.errors import CommandError
from kdive.expr.commandline import closing, command_end, comment_end, quoted_end
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

ScriptToken = Literal["$<", "$><", "$$<", "$$><", "$$>a<"]

_KEYWORD = re.compile(
    r"\.(if|elsif|else|for|foreach|while|do|break|continue|block|catch|leave)(?![\w.])", re.IGNORECASE
)
_SCRIPT = re.compile(r"\$\$>a<|\$\$><|\$\$<|\$><|\$<", re.IGNORECASE)
_JUMP = re.compile(r"j(?=[\s(])", re.IGNORECASE)
_ALIAS_LINE = re.compile(r"as(?=\s)")
_GAP = re.compile(r"[\s;]*")
_OPTION = re.compile(r"\s*/(pS|ps|s|f)\b\s*")
_NUMBER = re.compile(r"[^\s(]+")
_TO_BRACE = re.compile(r'["{;\n]')


class Command(Record, frozen=True):
    """A plain command."""

    text: str


class Comment(Record, frozen=True):
    """Nothing to do."""


class If(Record, frozen=True):
    """``.if``/``.elsif``/``.else``: conditions (None for else) with their bodies."""

    branches: tuple[tuple[str | None, str], ...]


class While(Record, frozen=True):
    """``.while (condition) { body }``, or ``.do { body } (condition)`` with ``test_last``."""

    condition: str
    body: str
    test_last: bool = False


class For(Record, frozen=True):
    """``.for (first ; condition ; step) { body }``; an empty condition holds."""

    first: str
    condition: str
    step: str
    body: str


class ForEach(Record, frozen=True):
    """``.foreach``: tokens of a command's output, a string or a file.

    Attributes:
        variable: Name that stands for the token in the body.
        source: The commands, the string or the file name.
        kind: Which of the three ``source`` is.
        body: What runs for each token.
        skip_first: Expression (``/pS``): tokens to leave out at the start.
        skip_each: Expression (``/ps``): tokens to leave out behind each one used.
    """

    variable: str
    source: str
    kind: Literal["commands", "string", "file"]
    body: str
    skip_first: str | None
    skip_each: str | None


class Block(Record, frozen=True):
    """``.block { body }``, or ``.catch { body }``, which reports an error and goes on."""

    body: str
    catches: bool = False


class Leave(Record, frozen=True):
    """``.break``, ``.continue`` or ``.leave``."""

    kind: Literal["break", "continue", "leave"]


class Jump(Record, frozen=True):
    """``j``: everything behind it up to the end of the line; only evaluation shows where its parts end."""

    text: str


class RunScript(Record, frozen=True):
    """A script file: the token it was called with, and the text behind it."""

    token: ScriptToken
    text: str


Statement = Command | Comment | If | While | For | ForEach | Block | Leave | Jump | RunScript


def parse_statement(
    text: str, position: int, raw_end: Callable[[str, int], int | None] = lambda _text, _position: None
) -> tuple[Statement, int]:
    """Parse the statement at a position (not blank) and return it with the position behind it.

    Args:
        text: The line.
        position: Where the statement starts.
        raw_end: Says where a command ends whose argument may hold semicolons; None for all others.

    Raises:
        CommandError: A control-flow token is not followed by what it needs.
    """
    if (match := _SCRIPT.match(text, position)) is not None:
        token: ScriptToken = match[0].lower()  # pyright: ignore[reportAssignmentType]
        # $< and $>< take the rest of the line as the name; the $$ forms end at a semicolon.
        end = _line_end(text, position) if not token.startswith("$$") else command_end(text, match.end())
        return RunScript(token, text[match.end() : end].strip()), end
    if (end := comment_end(text, position)) is not None:
        return Comment(), end
    if text[position] == "{":
        body, end = _body(text, position, "{")
        return Block(body), end
    if (match := _KEYWORD.match(text, position)) is not None:
        return _control_flow(text, match.end(), match[1].lower())
    if (match := _JUMP.match(text, position)) is not None:
        end = _line_end(text, position)
        return Jump(text[match.end() : end]), end
    if _ALIAS_LINE.match(text, position):
        end = _line_end(text, position)
    else:
        end = raw_end(text, position)
        end = command_end(text, position) if end is None else end
    return Command(text[position:end].rstrip()), end


def _control_flow(text: str, position: int, keyword: str) -> tuple[Statement, int]:
    match keyword:
        case "if":
            return _if(text, position)
        case "while":
            condition, opening = _condition(text, position, ".while")
            body, end = _body(text, opening, ".while")
            return While(condition, body), end
        case "do":
            body, end = _body(text, position, ".do")
            opening = _skip(text, end)
            if text[opening : opening + 1] != "(" or (close := closing(text, opening)) is None:
                raise _needs(".do", "(condition) behind its block", ".do { commands } (condition)")
            return While(text[opening : close + 1], body, test_last=True), close + 1
        case "for":
            return _for(text, position)
        case "foreach":
            return _foreach(text, position)
        case "block" | "catch":
            body, end = _body(text, position, f".{keyword}")
            return Block(body, catches=keyword == "catch"), end
        case "break" | "continue" | "leave":
            return Leave(keyword), position
        case _:
            raise CommandError(f".{keyword} without .if", hint=".if (condition) { commands } .else { commands }")


def _needs(keyword: str, what: str, syntax: str) -> CommandError:
    return CommandError(f"{keyword} needs {what}", hint=syntax)


def _skip(text: str, position: int) -> int:
    """Step over blanks, line breaks and semicolons: scripts put them between the parts of a statement."""
    match = _GAP.match(text, position)
    return match.end() if match else position


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _body(text: str, position: int, keyword: str) -> tuple[str, int]:
    """Return the text in the braces that open behind a position, and the position behind them."""
    opening = _skip(text, position)
    if text[opening : opening + 1] != "{":
        raise _needs(keyword, "{ commands }", f"{keyword} … {{ commands }}")
    close = closing(text, opening)
    if close is None:
        raise CommandError(f"the {{ of {keyword} is not closed")
    return text[opening + 1 : close], close + 1


def _condition(text: str, position: int, keyword: str) -> tuple[str, int]:
    """Return the condition between a keyword and its block, and the position of the block."""
    index = position
    while (match := _TO_BRACE.search(text, index)) is not None:
        if match[0] == '"':
            index = quoted_end(text, match.start())
            continue
        if match[0] == "{" and not text.startswith("${", match.start() - 1):
            condition = text[position : match.start()].strip()
            if not condition:
                break
            return condition, match.start()
        if match[0] == "{":
            close = text.find("}", match.end())
            index = len(text) if close < 0 else close + 1
            continue
        index = match.end()
        if text[_skip(text, index) : _skip(text, index) + 1] != "{":
            break
    raise _needs(keyword, "(condition) and { commands }", f"{keyword} (condition) {{ commands }}")


def _if(text: str, position: int) -> tuple[Statement, int]:
    condition, opening = _condition(text, position, ".if")
    body, end = _body(text, opening, ".if")
    branches: list[tuple[str | None, str]] = [(condition.rstrip("; \t\r\n"), body)]
    while (match := _KEYWORD.match(text, _skip(text, end))) is not None:
        keyword = match[1].lower()
        if keyword == "elsif":
            condition, opening = _condition(text, match.end(), ".elsif")
            body, end = _body(text, opening, ".elsif")
            branches.append((condition.rstrip("; \t\r\n"), body))
        elif keyword == "else":
            body, end = _body(text, match.end(), ".else")
            branches.append((None, body))
            break
        else:
            break
    return If(tuple(branches)), end


def _for(text: str, position: int) -> tuple[Statement, int]:
    syntax = ".for (first ; condition ; step) { commands }"
    opening = _skip(text, position)
    if text[opening : opening + 1] != "(" or (close := closing(text, opening)) is None:
        raise _needs(".for", "(first ; condition ; step)", syntax)
    parts: list[str] = []
    index = opening + 1
    while index <= close:
        # The head's text ends at the closing parenthesis, whatever stands behind it.
        end = command_end(text[:close], index)
        parts.append(text[index:end].strip())
        index = end + 1
    if len(parts) != 3:
        raise _needs(".for", "three parts in its head", syntax)
    body, end = _body(text, close + 1, ".for")
    return For(parts[0], parts[1], parts[2], body), end


def _foreach(text: str, position: int) -> tuple[Statement, int]:
    syntax = ".foreach [/pS n] [/ps n] (variable { commands }) { commands }"
    kind: Literal["commands", "string", "file"] = "commands"
    skips: dict[str, str] = {}
    while (match := _OPTION.match(text, position)) is not None:
        position = match.end()
        option = match[1]
        if option in ("pS", "ps"):
            number = _NUMBER.match(text, position)
            if number is None:
                raise _needs(f"/{option}", "a number", syntax)
            skips[option] = number[0]
            position = number.end()
        else:
            kind = "string" if option == "s" else "file"
    opening = _skip(text, position)
    if text[opening : opening + 1] != "(" or (close := closing(text, opening)) is None:
        raise _needs(".foreach", "(variable { commands })", syntax)
    head = text[opening + 1 : close].strip()
    match = re.match(r"[^\s{\"]+", head)
    variable = match[0] if match else ""
    source = head[len(variable) :].strip()
    if not variable or not source:
        raise _needs(".foreach", "a variable and what to go through", syntax)
    if kind == "commands":
        if not (source.startswith("{") and source.endswith("}")):
            raise _needs(".foreach", "{ commands } in its head", syntax)
        source = source[1:-1]
    elif len(source) >= 2 and source[0] == source[-1] == '"':
        source = source[1:-1]
    body, end = _body(text, close + 1, ".foreach")
    return ForEach(variable, source, kind, body, skips.get("pS"), skips.get("ps")), end
