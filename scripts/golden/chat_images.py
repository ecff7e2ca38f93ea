#!/usr/bin/env python3
"""Writes the image files of the vision tests, and their pixels as read by Pillow.

    python scripts/golden/chat_images.py            needs: pip install pillow==13.0.0

Writes into orchestrator/chat/vision/testdata/: small files of every accepted kind; golden.json with the RGB bytes of
each, upright and on white, in base64; and files that must be refused.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from pathlib import Path

import PIL
from PIL import Image, ImageOps

HERE = Path(__file__).resolve().parents[2] / "orchestrator" / "chat" / "vision" / "testdata"
SIZE = (20, 14)


def picture(mode: str) -> Image.Image:
    """Returns a gradient with a transparent corner."""
    image = Image.new("RGBA", SIZE)
    for x in range(SIZE[0]):
        for y in range(SIZE[1]):
            alpha = 0 if x < 5 and y < 5 else 128 if x < 10 else 255
            image.putpixel((x, y), (x * 12, y * 18, 255 - x * 10, alpha))
    return image if mode == "RGBA" else image.convert("RGB").convert(mode)


def on_white(image: Image.Image) -> Image.Image:
    image = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def encode(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def accepted_files() -> dict[str, bytes]:
    transparent = picture("RGB").quantize(16)
    return {
        "rgb.png": encode(picture("RGB"), format="PNG"),
        "rgba.png": encode(picture("RGBA"), format="PNG"),
        "gray.png": encode(picture("L"), format="PNG"),
        "gray-alpha.png": encode(picture("RGBA").convert("LA"), format="PNG"),
        "one-bit.png": encode(picture("1"), format="PNG"),
        "palette.png": encode(transparent, format="PNG"),
        "palette-transparent.png": encode(transparent, format="PNG", transparency=transparent.getpixel((0, 0))),
        "rgb.jpg": encode(picture("RGB"), format="JPEG", quality=95, subsampling=0),
        "progressive.jpg": encode(picture("RGB"), format="JPEG", quality=95, subsampling=0, progressive=True),
        "gray.jpg": encode(picture("L"), format="JPEG", quality=95),
        "cmyk.jpg": encode(picture("CMYK"), format="JPEG", quality=98),
        "palette.gif": encode(transparent, format="GIF"),
        "transparent.gif": encode(transparent, format="GIF", transparency=transparent.getpixel((0, 0))),
        "lossy.webp": encode(picture("RGB"), format="WEBP", quality=95),
        "lossless.webp": encode(picture("RGB"), format="WEBP", lossless=True),
        "lossless-alpha.webp": encode(picture("RGBA"), format="WEBP", lossless=True, exact=True),
        **{
            f"turned-{n}.jpg": encode(
                picture("RGB"), format="JPEG", quality=95, subsampling=0, exif=orientation_exif(n)
            )
            for n in range(2, 9)
        },
    }


def orientation_exif(orientation: int) -> Image.Exif:
    """Returns the metadata of a picture that must be rotated or mirrored."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def refused_files() -> dict[str, bytes]:
    frames = [picture("RGB"), picture("RGB").transpose(Image.Transpose.FLIP_LEFT_RIGHT)]
    animation = dict(save_all=True, append_images=frames[1:], duration=100)
    small = encode(picture("RGB"), format="WEBP", lossless=True)
    return {
        "animated.gif": encode(frames[0], format="GIF", **animation),
        "animated.webp": encode(frames[0], format="WEBP", **animation),
        # The extended header has a small canvas, and the chunk 16384 × 16384 pixels.
        "bomb.webp": extended_webp(small[20:].replace(small[21:25], struct.pack("<I", (16383 | 16383 << 14)), 1)),
    }


def extended_webp(vp8l: bytes) -> bytes:
    """Returns a WebP file of a lossless chunk, with a canvas of 100 × 100 pixels in the extended header."""
    header = b"VP8X" + struct.pack("<I", 10) + bytes(4) + struct.pack("<I", 99)[:3] + struct.pack("<I", 99)[:3]
    chunk = b"VP8L" + struct.pack("<I", len(vp8l)) + vp8l + b"\0" * (len(vp8l) % 2)
    body = b"WEBP" + header + chunk
    return b"RIFF" + struct.pack("<I", len(body)) + body


def main() -> None:
    HERE.mkdir(exist_ok=True)
    entries = {}
    for name, data in accepted_files().items():
        (HERE / name).write_bytes(data)
        flat = on_white(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
        entries[name] = {"width": flat.width, "height": flat.height, "rgb": base64.b64encode(flat.tobytes()).decode()}
    for name, data in refused_files().items():
        (HERE / name).write_bytes(data)
    golden = {"made_by": "scripts/golden/chat_images.py", "pillow": PIL.__version__, "entries": entries}
    (HERE / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(f"{len(entries)} files")


if __name__ == "__main__":
    main()
