"""Who wrote a block of tagged secondary data.

Facts: GUIDs published in the headers of the driver kits, and blocks seen in dumps of builds 17134 to 22000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

WRITERS: Mapping[str, str] = {
    "54C84888-01D1-4C1E-BED6-282C98241303": "KMDF: in-flight recorder of a driver",
    "21BA7B61-05F8-41F1-9048-C09493DCFE38": "wdiwifi: adapter state",
}
"""Known GUIDs and their writers."""


def writer_of(guid: str) -> str:
    """Return the writer of a block, empty if it is not known."""
    return WRITERS.get(guid, "")
