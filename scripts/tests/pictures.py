"""Small pictures for tests of the chat API."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from pathlib import Path

from PIL import Image, ImageDraw


def png(width: int = 32, height: int = 24, shade: int = 255, **texts: object) -> bytes:
    """A white PNG, or of another shade of grey, with texts beside its pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))
    text_chunks = b"".join(chunk(b"tEXt", f"{name}\0{value}".encode("latin-1")) for name, value in texts.items())
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + text_chunks
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def data_url(file: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64," + base64.b64encode(file).decode()


def drawing(width: int = 32, height: int = 24, shade: int = 255, **texts: object) -> str:
    """Such a PNG as a data URL."""
    return data_url(png(width, height, shade, **texts))


def struck_through(path: Path) -> bytes:
    """A PNG file of a drawing with a thick line across its middle."""
    image = Image.open(path).convert("RGB")
    width, height = image.size
    ends = [(width * 0.4, height * 0.1), (width * 0.6, height * 0.9)]
    ImageDraw.Draw(image).line(ends, "black", 5)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def content(text: str, *urls: str) -> list[dict]:
    """The content of a user's message: pictures and a text."""
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [*parts, {"type": "text", "text": text}] if text else parts
