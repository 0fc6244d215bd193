"""Sessions on fake live targets, for tests of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.commands.dispatch import Dispatcher
from kdive.render.json import to_data
from kdive.render.text import TextRenderer
from kdive.session.session import Session, SessionOptions
from kdive.targets.kd import KdTarget
from kdive.targets.transport import SocketTransport
from tests.targets.fake_kd import WAIT
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.errors import KdiveError
    from tests.targets.fake_kd import FakeKd


def live_session(fake: FakeKd, cache: Path) -> Session:
    """Attach to a fake target."""
    target = KdTarget(SocketTransport(fake.near, "fake"))
    target.attach(WAIT)
    return Session(target, SessionOptions("", (SAMPLE / "isf",), offline=True, cache=cache))


def run(session: Session, line: str) -> list[Any]:
    """Run a line; its results."""
    results: list[Any] = []
    outcome = Dispatcher(session, lambda _, result: results.append(result), TextRenderer().plain).run(line)
    assert outcome.error is None, outcome.error
    return results


def text(session: Session, line: str) -> str:
    """Run a line; its results as text. JSON of each must be possible too."""
    results = run(session, line)
    for result in results:
        to_data(result)
    return "\n".join(TextRenderer().plain(result) for result in results if result is not None)


def failure(session: Session, line: str) -> KdiveError:
    """Run a line that fails; its error."""
    outcome = Dispatcher(session, lambda *_: None, TextRenderer().plain).run(line)
    assert outcome.error is not None
    return outcome.error
