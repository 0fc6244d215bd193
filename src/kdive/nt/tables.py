"""The tables of names and texts that come with the package."""

from __future__ import annotations

import pkgutil


def table_text(name: str) -> str:
    """Return the text of ``nt/data/<name>``.

    ``pkgutil`` asks the module loader: it works from an archive too, and ``importlib.resources`` is slow to import.

    Raises:
        FileNotFoundError: There is no such table.
    """
    return (pkgutil.get_data("kdive.nt", f"data/{name}") or b"").decode("utf-8")
