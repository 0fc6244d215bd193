"""The script interpreter: lists of commands, control flow, loops over tokens, script files.

Source: Microsoft, "Control flow tokens", "Run script file", ".foreach". The interpreter knows no commands: it cuts a
line into pieces, follows the control flow, and gives each plain command to its host.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from kdive.errors import CommandError, KdiveError, UsageError
from kdive.expr.commandline import matching, split_first

if TYPE_CHECKING:
    from kdive.cancel import CancelToken
    from kdive.expr.values import Value
    from kdive.session.aliases import AliasTable

MAX_DEPTH = 16
_SCRIPT = re.compile(r"(\$\$>a<|\$\$><|\$\$<|\$><|\$<)\s*")
_KEYWORD = re.compile(r"(\.(?:if|elsif|else|for|foreach|while|do|break|continue|block|catch|leave)\b|j(?=\s|\())")
_FOREACH_OPTION = re.compile(r"/(pS|ps)\s+(\S+)\s+|/(s|f)(?=[\s(])\s*")
_RAW = re.compile(r"\s*(?:as|aS|\.printf|\.echo)\b")

KEYWORDS = (".if", ".elsif", ".else", ".for", ".foreach", ".while", ".do", ".break", ".continue", ".block", "j")
SCRIPT_COMMANDS = ("$<", "$><", "$$<", "$$><", "$$>a<")


class LineAborted(KdiveError):  # noqa: N818 (it wraps the error)
    """A command failed, and the rest of its line was not run.

    Attributes:
        error: What failed.
        not_run: The text of the commands that were not run.
    """

    def __init__(self, error: KdiveError, not_run: str) -> None:
        super().__init__(error.what, where=error.where, hint=error.hint)
        self.error = error
        self.not_run = not_run


class ScriptHost(Protocol):
    """What the interpreter needs around it."""

    @property
    def cancel(self) -> CancelToken:
        """Ends loops."""
        ...

    @property
    def aliases(self) -> AliasTable:
        """Text replacement."""
        ...

    def execute(self, command: str) -> None:
        """Run one command; raises ``KdiveError`` when it fails."""
        ...

    def evaluate(self, expression: str) -> Value:
        """Evaluate a condition."""
        ...

    def capture(self, commands: str) -> str:
        """Run commands and return their text."""
        ...

    def read_script(self, path: str) -> str:
        """Return the text of a script file."""
        ...


class _Break(Exception):  # noqa: N818
    pass


class _Continue(Exception):  # noqa: N818
    pass


class Interpreter:
    """Runs command lines.

    Args:
        host: Runs the commands.
    """

    def __init__(self, host: ScriptHost) -> None:
        self._host = host
        self._depth = 0
        self._loops = 0
        self._variables: dict[str, str] = {}

    def run(self, line: str) -> None:
        """Run a line.

        Raises:
            LineAborted: A command failed.
            KdiveError: The line itself is wrong.
        """
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH * 4:
                raise CommandError("commands are nested too deep")
            self._run(line)
        except (_Break, _Continue) as stray:
            name = ".break" if isinstance(stray, _Break) else ".continue"
            if self._loops and self._depth > 1:
                raise
            raise UsageError(f"{name} outside a loop") from None
        finally:
            self._depth -= 1

    def _run(self, line: str) -> None:
        rest = line
        while rest.strip():
            self._host.cancel.check()
            rest = rest.lstrip(" \t\r\n;")
            if not rest or rest.startswith("*"):
                newline = rest.find("\n")
                rest = rest[newline + 1 :] if newline >= 0 else ""
                continue
            script = _SCRIPT.match(rest)
            if script:
                rest = self._script(script, rest)
                continue
            keyword = _KEYWORD.match(rest)
            if keyword:
                rest = self._control(keyword.group(), rest[keyword.end() :])
                continue
            command, rest = self._next(rest)
            if command.lstrip().startswith("$$"):
                continue
            # An alias may stand for several commands, or for control flow.
            expanded = self._host.aliases.expand(command, self._variables)
            if expanded != command and (";" in expanded or _KEYWORD.match(expanded.strip())):
                self._guard(expanded, rest)
            elif expanded.strip():
                self._execute(expanded.strip(), rest)

    def _next(self, rest: str) -> tuple[str, str]:
        if _RAW.match(rest) and not rest.lstrip().startswith("."):
            # `as` takes the whole line.
            line, _, after = rest.partition("\n")
            return line, after
        return split_first(rest)

    def _execute(self, command: str, rest: str) -> None:
        try:
            self._host.execute(command)
        except LineAborted as aborted:
            raise LineAborted(aborted.error, _joined(aborted.not_run, rest)) from aborted.error
        except KdiveError as error:
            raise LineAborted(error, rest.strip().strip(";").strip()) from error

    def _guard(self, commands: str, rest: str) -> None:
        """Run a nested list; what was not run names the rest of this line too."""
        try:
            self.run(commands)
        except LineAborted as aborted:
            raise LineAborted(aborted.error, _joined(aborted.not_run, rest)) from aborted.error

    def _expand(self, text: str) -> str:
        return self._host.aliases.expand(text, self._variables)

    def _condition(self, text: str) -> bool:
        return bool(self._host.evaluate(self._expand(text)).number)

    # --- control flow ----------------------------------------------------------------------------------------------

    def _control(self, keyword: str, rest: str) -> str:
        if keyword == ".if":
            return self._if(rest)
        if keyword in (".elsif", ".else"):
            raise UsageError(f"{keyword} without .if")
        if keyword == ".while":
            return self._while(rest)
        if keyword == ".for":
            return self._for(rest)
        if keyword == ".do":
            return self._do(rest)
        if keyword == ".foreach":
            return self._foreach(rest)
        if keyword == ".block":
            body, rest = _take(rest, "{", ".block")
            self._guard(body, rest)
            return rest
        if keyword == "j":
            return self._j(rest)
        if keyword == ".break":
            raise _Break
        if keyword == ".continue":
            raise _Continue
        raise UsageError(f"{keyword} is not supported")

    def _if(self, rest: str) -> str:
        condition, rest = _take(rest, "(", ".if")
        done = self._condition(condition)
        body, rest = _take(rest, "{", ".if")
        chosen = body if done else None
        while True:
            following = re.match(r"[\s;]*(\.elsif|\.else)\b", rest)
            if not following:
                break
            rest = rest[following.end() :]
            if following.group(1) == ".elsif":
                condition, rest = _take(rest, "(", ".elsif")
                body, rest = _take(rest, "{", ".elsif")
                if not done and self._condition(condition):
                    done, chosen = True, body
            else:
                body, rest = _take(rest, "{", ".else")
                if not done:
                    done, chosen = True, body
        if chosen is not None:
            self._guard(chosen, rest)
        return rest

    def _pass(self, body: str, rest: str) -> bool:
        """Run a loop's body once; False ends the loop."""
        self._host.cancel.check()
        self._loops += 1
        try:
            self._guard(body, rest)
        except _Break:
            return False
        except _Continue:
            pass
        finally:
            self._loops -= 1
        return True

    def _while(self, rest: str) -> str:
        condition, rest = _take(rest, "(", ".while")
        body, rest = _take(rest, "{", ".while")
        while self._condition(condition) and self._pass(body, rest):
            pass
        return rest

    def _for(self, rest: str) -> str:
        head, rest = _take(rest, "(", ".for")
        body, rest = _take(rest, "{", ".for")
        initial, after = split_first(head)
        condition, increment = split_first(after)
        if initial.strip():
            self._guard(initial, rest)
        while (not condition.strip() or self._condition(condition)) and self._pass(body, rest):
            if increment.strip():
                self._guard(increment, rest)
        return rest

    def _do(self, rest: str) -> str:
        body, rest = _take(rest, "{", ".do")
        condition, rest = _take(rest, "(", ".do")
        while self._pass(body, rest) and self._condition(condition):
            pass
        return rest

    def _j(self, rest: str) -> str:
        """``j <expression> <command1> ; <command2>``; commands may be quoted with ``'``."""
        line, newline, after = rest.partition("\n")
        match = re.match(r"\s*(.+?)\s+'([^']*)'\s*(?:;\s*'([^']*)')?\s*(;.*)?$", line)
        if match:
            condition, first, second, tail = match.groups()
            chosen = first if self._condition(condition) else second or ""
            rest = (tail or "") + newline + after
        else:
            head, _, second = line.partition(";")
            parenthesised = re.match(r"\s*\(", head)
            if parenthesised:
                end = matching(head, parenthesised.end() - 1)
                condition, first = head[: end + 1], head[end + 1 :]
            else:
                condition, _, first = head.strip().partition(" ")
            chosen = first if self._condition(condition) else second
            rest = after
        if chosen.strip():
            self._guard(chosen, rest)
        return rest

    def _foreach(self, rest: str) -> str:
        skip_first, skip_between, source = 0, 0, ""
        rest = rest.lstrip()
        while option := _FOREACH_OPTION.match(rest):
            if option.group(1):
                count = self._host.evaluate(option.group(2)).number
                if option.group(1) == "pS":
                    skip_first = count
                else:
                    skip_between = count
            else:
                source = option.group(3)
            rest = rest[option.end() :]
        head, rest = _take(rest, "(", ".foreach")
        body, rest = _take(rest, "{", ".foreach")
        name_match = re.match(r"\s*([^\s{\"]+)\s*", head)
        if not name_match:
            raise UsageError(".foreach needs a variable: .foreach (name { commands }) { commands }")
        name, inner = name_match.group(1), head[name_match.end() :]
        if source == "s":
            text = inner.strip().strip('"')
        elif source == "f":
            text = self._host.read_script(inner.strip().strip('"'))
        else:
            commands, _ = _take(inner, "{", ".foreach")
            text = self._host.capture(self._expand(commands))
        tokens = text.split()[skip_first :: skip_between + 1]
        outer = self._variables
        try:
            for token in tokens:
                self._variables = {**outer, name: token}
                pattern = rf"\$\{{{re.escape(name)}\}}|(?<![\w$/:]){re.escape(name)}(?!\w)"
                replaced = re.sub(pattern, lambda _, word=token: word, body)
                if not self._pass(replaced, rest):
                    break
        finally:
            self._variables = outer
        return rest

    # --- script files ----------------------------------------------------------------------------------------------

    def _script(self, match: re.Match[str], rest: str) -> str:
        kind = match.group(1)
        line, _, after = rest[match.end() :].partition("\n")
        arguments: list[str] = []
        if kind == "$$>a<":
            words = re.findall(r'"([^"]*)"|(\S+)', line)
            parts = [quoted or plain for quoted, plain in words]
            path, arguments = (parts[0], parts[1:]) if parts else ("", [])
        elif kind in ("$$<", "$$><"):
            line, _, tail = line.partition(";")
            path, after = line.strip().strip('"'), f"{tail}\n{after}"
        else:
            path = line.strip().strip('"')
        if not path:
            raise UsageError(f"{kind} needs the name of a script file")
        if self._depth > MAX_DEPTH:
            raise CommandError(f"scripts are nested deeper than {MAX_DEPTH} levels", where=path)
        text = self._host.read_script(path)
        outer = self._variables
        self._variables = {**outer, **{f"$arg{index}": word for index, word in enumerate(arguments, 1)}}
        try:
            if kind in ("$><", "$$><", "$$>a<"):
                # These run the file as one block: newlines part commands, and blocks may span lines.
                self._guard(_without_comments(text), after)
            else:
                for command in text.splitlines():
                    self._guard(command, after)
        finally:
            self._variables = outer
        return after


def _without_comments(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("*", "$$ "))]
    return "\n".join(line for line in lines if line.strip() != "$$")


def _joined(inner: str, outer: str) -> str:
    parts = [part.strip().strip(";").strip() for part in (inner, outer)]
    return "; ".join(part for part in parts if part)


def _take(text: str, opener: str, keyword: str) -> tuple[str, str]:
    """Take a bracketed part from the start of a text; return its inside and what follows."""
    text = text.lstrip(" \t\r\n")
    closer = {"(": ")", "{": "}"}[opener]
    if not text.startswith(opener):
        raise UsageError(f"{keyword} needs {opener} … {closer} here: {text[:20]!r}")
    end = matching(text, 0)
    if end < 0:
        raise UsageError(f"{keyword}: {opener} is not closed by {closer}")
    return text[1:end], text[end + 1 :]
