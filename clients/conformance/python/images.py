"""Images of two kinds, composed without a library."""

from __future__ import annotations

import random
import struct
import zlib


def image(seed: int, *, is_dark: bool, side: int = 48) -> bytes:
    """A PNG file: a disc on a noisy ground, dark on light or light on dark."""
    noise = random.Random(seed)
    ground, disc = (205, 45) if is_dark else (45, 205)
    middle = side / 2 + noise.uniform(-6, 6), side / 2 + noise.uniform(-6, 6)
    radius = noise.uniform(0.2, 0.35) * side
    rows = bytearray()
    for y in range(side):
        rows.append(0)
        for x in range(side):
            shade = disc if (x - middle[0]) ** 2 + (y - middle[1]) ** 2 < radius**2 else ground
            rows += bytes(max(0, min(255, shade + noise.randint(-30, 30))) for _ in range(3))
    return png(side, bytes(rows))


def flat(colour: int) -> bytes:
    """A PNG file of one colour, 0..0xffffff."""
    side = 16
    row = b"\0" + colour.to_bytes(3, "big") * side
    return png(side, row * side)


def png(side: int, rows: bytes) -> bytes:
    """A PNG file of these rows, each of a filter byte and RGB pixels."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def chunk(name: bytes, content: bytes) -> bytes:
    """A part of a PNG file."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
