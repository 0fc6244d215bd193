"""Values of queries as text."""

from __future__ import annotations

from kdive.commands.results.dx import ModelGrid, ModelNode
from kdive.render.styled import Style, StyledText

_NAME_WIDTH = 16
_MAX_NAME = 40
_MAX_CELL = 60


def node(result: ModelNode) -> StyledText:
    """``dx``: the value, then its parts, indented."""
    text = StyledText()
    _node(text, result, 0, max(len(result.name), 28))
    return text


def _node(text: StyledText, result: ModelNode, depth: int, width: int) -> None:
    text.add("    " * depth).add(f"{result.name:<{width}}", Style.SYMBOL if depth == 0 else Style.PLAIN)
    if result.value:
        text.add(" : ").add(result.value)
    if result.type:
        text.add(f" [Type: {result.type}]", Style.NOTE)
    text.line()
    inner = min(max((len(child.name) for child in result.children), default=0), _MAX_NAME)
    for child in result.children:
        _node(text, child, depth + 1, max(inner, _NAME_WIDTH))
    if result.more:
        text.add("    " * (depth + 1)).line("[...]            : more; a count behind a comma shows more", Style.NOTE)


def grid(result: ModelGrid) -> StyledText:
    """``dx -g``: a table."""
    text = StyledText()
    head = ["", *(f"({column})" for column in result.columns)]
    rows = [[cell if len(cell) <= _MAX_CELL else cell[: _MAX_CELL - 3] + "..." for cell in row] for row in result.rows]
    widths = [max(len(row[index]) for row in [head, *rows]) for index in range(len(head))]
    rule = "=" * (sum(widths) + 3 * len(widths) + 1)
    text.line(rule)
    for index, row in enumerate([head, *rows]):
        cells = " | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        text.line(f"= {cells} |".rstrip(), Style.HEADER if index == 0 else Style.PLAIN)
        if index == 0:
            text.line(rule)
    text.line(rule)
    if result.more:
        text.line("more rows; a count behind a comma shows more", Style.NOTE)
    return text


RENDERERS = {ModelNode: node, ModelGrid: grid}
