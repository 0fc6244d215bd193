"""Runs the command language: aliases, control flow and script files around single commands.

The interpreter knows no command. It takes a line apart, replaces aliases in each command just before it runs, follows
the control-flow tokens, and hands plain commands to a :class:`ScriptHost`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kdive.errors import CancelledError, CommandError, KdiveError
from kdive.expr.commandline import command_end, next_start, split_arguments
from kdive.expr.statements import (
    Block,
    Command,
    Comment,
    For,
    ForEach,
    If,
    Jump,
    Leave,
    RunScript,
    Statement,
    While,
    parse_statement,
)

if TYPE_CHECKING:
    from kdive.cancel import CancelToken
    from kdive.expr.values import Value
    from kdive.session.aliases import AliasTable

MAX_NESTING = 16
"""How deep script files may run one another."""

_MAX_BLOCKS = 48
"""How deep blocks, aliases, scripts and lines run from within commands may nest altogether."""


class ScriptHost(Protocol):
    """What the interpreter runs on."""

    @property
    def aliases(self) -> AliasTable:
        """The session's aliases."""
        ...

    @property
    def cancel(self) -> CancelToken:
        """Ends the running line at its next step."""
        ...

    def execute(self, command: str) -> None:
        """Run one plain command (aliases replaced, no separators).

        Raises:
            KdiveError: It failed.
        """
        ...

    def raw_end(self, text: str, position: int) -> int | None:
        """Return where the command at a position ends if its argument may hold semicolons, else None."""
        ...

    def evaluate(self, expression: str) -> Value:
        """Evaluate a whole expression with the session's default syntax.

        Raises:
            KdiveError: It cannot be evaluated.
        """
        ...

    def evaluate_prefix(self, text: str) -> tuple[Value, str]:
        """Evaluate the longest expression at the start of a text and return it with the rest.

        Raises:
            KdiveError: It cannot be evaluated.
        """
        ...

    def write(self, text: str) -> None:
        """Print text."""
        ...

    def capture(self, commands: str) -> str:
        """Run commands as a line and return what they print.

        Raises:
            KdiveError: One of them failed.
        """
        ...

    def read_script(self, path: str) -> str:
        """Return the text of a script file.

        Raises:
            KdiveError: It cannot be read.
        """
        ...


class LineAborted(KdiveError):  # noqa: N818 - it reports where a line stopped; the error is `original`
    """A command failed, and what stood behind it on its line was not run.

    Attributes:
        original: What the command raised.
        not_run: The text that was not run, empty if nothing was left.
    """

    def __init__(self, original: KdiveError, not_run: str) -> None:
        super().__init__(original.what, where=original.where, hint=original.hint)
        self.original = original
        self.not_run = not_run

    def __str__(self) -> str:
        return str(self.original)


class _LoopSignal(Exception):  # noqa: N818 - control flow, never seen outside
    """``.break``, ``.continue`` or ``.leave`` on its way to the statement that it leaves."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Interpreter:
    """Runs lines of the command language.

    Args:
        host: Runs plain commands and evaluates expressions.
    """

    def __init__(self, host: ScriptHost) -> None:
        self._host = host
        self._scripts = 0
        self._blocks = 0

    def run(self, line: str) -> None:
        """Run a line (or several: a line break separates commands as a semicolon does).

        May be called again from within a command, for a breakpoint's commands for example.

        Raises:
            LineAborted: A command failed.
            CancelledError: The host's token was cancelled.
        """
        try:
            self._nested(line, expand=True)
        except _LoopSignal as signal:
            raise LineAborted(CommandError(f".{signal.kind} is not inside what it could leave"), "") from None
        except LineAborted:
            raise
        except CommandError as error:
            raise LineAborted(error, line.strip()) from error

    def _run(self, text: str, expand: bool = True) -> None:
        position = 0
        while (position := next_start(text, position)) < len(text):
            self._host.cancel.check()
            try:
                statement, end = parse_statement(text, position, self._host.raw_end)
            except CommandError as error:
                raise LineAborted(error, text[position:].strip()) from error
            try:
                self._statement(statement, expand)
            except CancelledError:
                raise
            except LineAborted as aborted:
                rest = "; ".join(part for part in (aborted.not_run, _rest(text, end)) if part)
                raise LineAborted(aborted.original, rest) from aborted.original
            except KdiveError as error:
                raise LineAborted(error, _rest(text, end)) from error
            position = end

    def _statement(self, statement: Statement, expand: bool) -> None:
        match statement:
            case Command():
                self._command(statement.text, expand)
            case Comment():
                pass
            case If():
                for condition, body in statement.branches:
                    if condition is None or self._holds(condition):
                        self._body(body)
                        break
            case While():
                self._while(statement)
            case For():
                self._for(statement)
            case ForEach():
                self._foreach(statement)
            case Block():
                self._block(statement)
            case Leave():
                raise _LoopSignal(statement.kind)
            case Jump():
                self._jump(statement.text)
            case RunScript():
                self._script(statement)

    def _command(self, text: str, expand: bool) -> None:
        aliases = self._host.aliases
        if expand:
            expanded = aliases.expand_aliases(text)
            if expanded != text:
                # The text behind a name may hold several commands, or control flow.
                self._nested(expanded, expand=False)
                return
        if text:
            self._host.execute(aliases.expand_data(text))

    def _expanded(self, text: str) -> str:
        return self._host.aliases.expand(text)

    def _holds(self, condition: str) -> bool:
        return bool(self._host.evaluate(self._expanded(condition).strip()))

    def _body(self, text: str) -> None:
        self._nested(text, expand=True)

    def _nested(self, text: str, expand: bool) -> None:
        self._blocks += 1
        try:
            if self._blocks > _MAX_BLOCKS:
                raise CommandError(f"blocks are nested too deeply (limit {_MAX_BLOCKS})")
            self._run(text, expand)
        finally:
            self._blocks -= 1

    def _pass(self, body: str) -> bool:
        """Run a loop's body once; False means that the loop was left."""
        self._host.cancel.check()
        try:
            self._body(body)
        except _LoopSignal as signal:
            if signal.kind == "leave":
                raise
            return signal.kind == "continue"
        return True

    def _while(self, loop: While) -> None:
        if loop.test_last:
            while self._pass(loop.body) and self._holds(loop.condition):
                pass
            return
        while self._holds(loop.condition) and self._pass(loop.body):
            pass

    def _for(self, loop: For) -> None:
        self._body(loop.first)
        while (not loop.condition or self._holds(loop.condition)) and self._pass(loop.body):
            self._body(loop.step)

    def _foreach(self, loop: ForEach) -> None:
        skip_first = self._count(loop.skip_first)
        step = 1 + self._count(loop.skip_each)
        match loop.kind:
            case "commands":
                source = self._host.capture(loop.source)
            case "string":
                source = self._expanded(loop.source)
            case "file":
                source = self._host.read_script(self._expanded(loop.source))
        for token in source.split()[skip_first::step]:
            with self._host.aliases.bound({loop.variable: token}):
                if not self._pass(loop.body):
                    break

    def _count(self, expression: str | None) -> int:
        return 0 if expression is None else self._host.evaluate(self._expanded(expression)).number

    def _block(self, block: Block) -> None:
        if not block.catches:
            self._body(block.body)
            return
        try:
            self._body(block.body)
        except CancelledError:
            raise
        except _LoopSignal as signal:
            if signal.kind != "leave":
                raise
        except KdiveError as error:
            self._host.write(f"error: {error}\n")

    def _jump(self, text: str) -> None:
        """Run ``j expression command1 [; command2]``; quoted parts may hold several commands."""
        text = self._host.aliases.expand_aliases(text)
        quote = _quoted_part(text)
        if quote is not None:
            value = self._host.evaluate(self._expanded(text[:quote]).strip())
            chosen, rest = _jump_part(text[quote:])
        else:
            end = command_end(text, 0)
            value, chosen = self._host.evaluate_prefix(self._expanded(text[:end]))
            rest = text[end:]
        rest = rest.lstrip()
        other = ""
        if rest.startswith(";"):
            other, rest = _jump_part(rest[1:].lstrip())
        try:
            if not value:
                self._body(other)
            elif quote is not None:
                self._body(chosen)
            elif chosen:
                # Loop variables are in it already, so it must not be cut again.
                self._host.execute(chosen.rstrip())
        except LineAborted as aborted:
            left = "; ".join(part for part in (aborted.not_run, _rest(rest, 0)) if part)
            raise LineAborted(aborted.original, left) from aborted.original
        except CancelledError:
            raise
        except KdiveError as error:
            raise LineAborted(error, _rest(rest, 0)) from error
        self._body(rest)

    def _script(self, call: RunScript) -> None:
        if self._scripts >= MAX_NESTING:
            raise CommandError(f"script files are nested too deeply (limit {MAX_NESTING})")
        text = self._expanded(call.text)
        values: dict[str, str] = {}
        if call.token == "$$>a<":
            arguments = split_arguments(text)
            path = arguments[0].text if arguments else ""
            values = {f"$arg{number}": argument.text for number, argument in enumerate(arguments[1:], 1)}
        else:
            path = text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text
        if not path:
            raise CommandError(f"{call.token} needs a file name")
        script = self._host.read_script(path).replace("\r\n", "\n").replace("\r", "\n")
        self._scripts += 1
        try:
            with self._host.aliases.scoped(values):
                self._nested(script, expand=True)
        finally:
            self._scripts -= 1


def _rest(text: str, position: int) -> str:
    """Return what is left to run behind a position, without separators around it."""
    return text[next_start(text, position) :].rstrip("; \t\r\n")


def _quoted_part(text: str) -> int | None:
    """Return where the first quoted part of ``j`` opens, or None if its first part is not quoted.

    Quotes inside parentheses belong to character constants of the expression.
    """
    limit = command_end(text, 0)
    depth = 0
    for index, char in enumerate(text[:limit]):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "'" and depth == 0:
            return index
    return None


def _jump_part(text: str) -> tuple[str, str]:
    """Return one command part of ``j`` and what stands behind it."""
    if text.startswith("'"):
        end = text.find("'", 1)
        if end < 0:
            raise CommandError("a quote (') is not closed", hint="j expression 'commands' ; 'commands'")
        return text[1:end], text[end + 1 :]
    end = command_end(text, 0)
    return text[:end].strip(), text[end:]
