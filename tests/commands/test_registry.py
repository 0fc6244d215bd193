"""The command index and the declarations agree."""

from __future__ import annotations

import importlib

import pytest

from kdive.commands.index import MODULES
from kdive.commands.registry import Registry
from kdive.commands.spec import CommandSpec


@pytest.mark.parametrize("module", MODULES)
def test_index_lists_exactly_the_declared_names(module: str) -> None:
    loaded = importlib.import_module(f"kdive.commands.{module}")
    declared = {name for value in vars(loaded).values() if isinstance(value, CommandSpec) for name in value.names}
    assert declared == set(MODULES[module])


def test_no_name_is_declared_twice() -> None:
    names = [name for names in MODULES.values() for name in names]
    assert len(names) == len(set(names))


def test_every_command_says_what_it_does() -> None:
    for spec in Registry().all():
        assert spec.summary, spec.name
        assert not spec.summary.endswith("."), spec.name
        assert len(spec.summary) <= 120, spec.name


def test_case_matters_for_plain_names_but_not_behind_a_dot_or_bang() -> None:
    registry = Registry()
    assert registry.find("ds") is registry.find("dS")
    assert registry.find("!ANALYZE") is registry.find("!analyze")
    assert registry.find("DB") is None
    assert registry.find("K") is None
