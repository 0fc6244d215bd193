from __future__ import annotations

import struct

import pytest

from kdive.formats.pe.image import PeImage
from kdive.formats.pe.resources import parse_version_resource, version_info
from tests.data import need
from tests.formats.pe.build import image


def node(key: str, value: bytes = b"", children: bytes = b"", *, text: bool = False) -> bytes:
    head = key.encode("utf-16-le") + b"\0\0"
    head += b"\0" * (-(6 + len(head)) % 4)
    body = head + value + b"\0" * (-len(value) % 4) + children
    return struct.pack("<HHH", 6 + len(body), len(value) // (2 if text else 1), int(text)) + body


def version_block() -> bytes:
    fixed = struct.pack("<13I", 0xFEEF04BD, 0x10000, 10 << 16, 19041 << 16 | 1, 10 << 16 | 2, 7 << 16, *[0] * 7)
    strings = b""
    for key, value in (("CompanyName", "Ümlaut"), ("Empty", "")):
        entry = node(key, f"{value}\0".encode("utf-16-le"), text=True)
        strings += entry + b"\0" * (-len(entry) % 4)
    return node("VS_VERSION_INFO", fixed, node("StringFileInfo", b"", node("040904B0", b"", strings)))


def test_versions_and_strings_are_read() -> None:
    info = parse_version_resource(version_block())
    assert info is not None
    assert (info.file_version, info.product_version) == ("10.0.19041.1", "10.2.7.0")
    assert info.strings == {"CompanyName": "Ümlaut", "Empty": ""}


def test_every_truncation_gives_a_part_or_nothing() -> None:
    block = version_block()
    for size in range(len(block)):
        found = parse_version_resource(block[:size])
        assert found is None or found.file_version == "10.0.19041.1"


def test_a_directory_that_names_itself_ends() -> None:
    content = struct.pack("<IIHHHH", 0, 0, 0, 0, 0, 1) + struct.pack("<II", 16, 0x80000000)
    assert version_info(PeImage(image(content, {2: (0x1000, 24)}))) is None
    assert version_info(PeImage(image(b"", {}))) is None


@pytest.mark.parametrize(
    ("relative", "version", "name"),
    [
        ("symbols/store/amdppm.sys/c9c030003b000/amdppm.sys", "10.0.19041.1110", "amdppm.sys"),
        ("symbols/store/Wdf01000.sys/a9a9d36ed1000/Wdf01000.sys", "1.31.19041.423", "wdf01000.sys"),
        ("symbols/pairs/ksi-amd64/ksi.dll", "4.0.1.0", "SystemInformer.sys"),
    ],
)
def test_version_of_real_drivers(relative: str, version: str, name: str) -> None:
    info = version_info(PeImage(need(relative).read_bytes()))
    assert info is not None
    assert info.file_version == version
    assert info.strings["OriginalFilename"] == name
