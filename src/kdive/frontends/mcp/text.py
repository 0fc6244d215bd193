"""What leaves the server, made safe: no terminal control, valid UTF-8, no forged lines, nothing that must stay secret.

Texts hold what the target wrote: names, strings, paths. A program in the target can choose them, so they are shown in
a way that cannot be taken for the server's own words.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

from kdive.errors import UsageError

REDACTED = "[redacted]"
_OWN_LINES = re.compile(r"^([ \t]*)\[(?=(?:target|output|rows|dbgprint)\b)", re.MULTILINE | re.IGNORECASE)
"""The beginnings of lines that only the server may write."""
_UNSAFE = re.compile(
    # Controls (with the escape character), other line separators, bidirectional overrides, surrogates.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*", re.ASCII)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Cleaner:
    """Makes texts and data fit to leave the server.

    Args:
        redactions: What is replaced by ``[redacted]`` wherever it stands.
    """

    def __init__(self, redactions: tuple[re.Pattern[str], ...] = ()) -> None:
        self._redactions = redactions

    def text(self, text: str) -> str:
        r"""Clean a text of several lines; controls are shown as ``\\x1b`` or ``\\u202e``."""
        for pattern in self._redactions:
            text = pattern.sub(REDACTED, text)
        if _PLAIN.fullmatch(text):
            return text
        return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))

    def body(self, text: str) -> str:
        """Clean a text that lines of the server follow; lines that look like those get a backslash."""
        return _OWN_LINES.sub(r"\1\\[", self.text(text))

    def inline(self, text: str) -> str:
        """Clean a name that stands inside a line of the server, between ``|``."""
        return self.text(text).replace("\n", "\\n").replace("|", "\\|")

    def data(self, value: Any) -> Any:
        """Clean every string in JSON data, keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.data(item) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list):
            return [self.data(item) for item in cast("list[Any]", value)]
        return value


def parse_redactions(given: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile what ``--redact`` was given: regular expressions, or files with one on each line.

    Empty lines of a file and those that start with ``#`` are left out.

    Raises:
        UsageError: One is no regular expression, or matches everywhere, or a file cannot be read.
    """
    found: list[re.Pattern[str]] = []
    for entry in given:
        for text, where in _expressions(entry):
            try:
                pattern = re.compile(text, re.MULTILINE)
            except re.error as error:
                raise UsageError(f"--redact: not a regular expression: {error}", where=where) from error
            if pattern.match(""):
                raise UsageError("--redact: the expression matches an empty text", where=where)
            found.append(pattern)
    return tuple(found)


def _expressions(entry: str) -> list[tuple[str, str]]:
    path = Path(entry).expanduser()
    try:
        if not path.is_file():
            return [(entry, entry)]
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError) or (isinstance(error, OSError) and error.errno == 13):
            raise UsageError("--redact: the file cannot be read as UTF-8 text", where=entry) from error
        # A regular expression need not be a possible path.
        return [(entry, entry)]
    return [
        (line, f"{entry}, line {number}")
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
