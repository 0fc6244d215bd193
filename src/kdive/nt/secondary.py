"""Who wrote a block of tagged secondary data.

Facts: GUIDs published in the headers of the driver kits, names of the GUIDs' variables in public symbols of their
writers, and what blocks in dumps of builds 17134 to 22000 say about themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.nt.blackbox import BLACKBOXES

if TYPE_CHECKING:
    from collections.abc import Mapping

WRITERS: Mapping[str, str] = {
    **{box.guid: f"{box.title} ({box.command})" for box in BLACKBOXES},
    "4EE76BD8-3CF4-44A0-A0AC-3937643E37A3": "nt: code integrity blackbox",
    "2B4AE195-A64D-4F04-8EDE-7E4F981BD42A": "nt: triage data blocks",
    "2B88B710-1C93-4F7C-B06C-655ECC50DECC": "nt: buffers of event tracing sessions",
    "B0692A5E-6B7B-4073-8A7C-604E35032970": "nt: secure kernel crash data",
    "9282756A-AB95-4D24-A137-ECDDC5DE53F5": "nt: secure kernel failure log",
    "5545F79E-5326-4467-AE69-81633AE33155": "nt: power watchdog",
    "0F1F53F3-561F-42E7-BDB4-BA8E66B726D5": "nt: feature configuration",
    "54C84888-01D1-4C1E-BED6-282C98241303": "Wdf01000: in-flight recorder of a driver",
    "F87E4A4C-C5A1-4D2F-BFF0-D5DE63A5E4C3": "Wdf01000: loaded drivers of the framework",
    "C939C73B-17DC-4A44-904C-E2D987F52649": "storport: paging device",
    "DA82441D-7142-4BC1-B844-0807C5A4B67F": "storport: state of a storage port",
    "270A33FD-3DA6-460D-BA89-3C1BAE21E39B": "watchdog: display state",
    "65755A40-F146-43EA-8C91-36B85728FD35": "crashdmp: the crash dump driver",
    "00DAE7CA-6833-45C5-B147-BDAED7B61FD6": "hvservice: Hyper-V diagnostic log",
    "BC5C008F-1E3A-44D7-988D-86F6884C6758": "mssmbios: SMBIOS tables",
    "6C7AC389-4313-47DC-9F34-A8800A0FB56C": "mssmbios: processor and BIOS values of the registry",
    "D03DC06F-D88E-44C5-BA2A-FAE035172D19": "mssmbios: processor identification",
    "E83B40D2-B0A0-4842-ABEA-71C9E3463DD1": "mssmbios: ACPI tables",
    "21BA7B61-05F8-41F1-9048-C09493DCFE38": "wdiwifi: trace recorder",
    "21BA7B61-05F9-41F1-9048-C09493DCFE38": "wdiwifi: driver log",
    "BF2297DC-34BA-11DC-868A-E19155D89593": "NVIDIA display driver: its own crash data",
}
"""Known GUIDs and their writers."""


def writer_of(guid: str) -> str:
    """Return the writer of a block, empty if it is not known."""
    return WRITERS.get(guid, "")
