"""Readings of pictures: a few at a time, one thread each, and each picture once however often it is asked about."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from PIL import Image, ImageOps, UnidentifiedImageError
from rdkit import Chem

MOST_PIXELS = 64_000_000
"""Of a picture that comes past the gateway, which has limits of its own."""


class Refused(Exception):
    """The request is at fault, in words for the client."""


class Readings:
    """Reads pictures given as base64 of their files."""

    def __init__(self, reader, workers: int, kept: int = 512) -> None:
        """`reader` has read(image); `workers` pictures are read at once; the last `kept` readings are remembered."""
        self.reader, self.kept = reader, kept
        self.pool = ThreadPoolExecutor(workers, "reading")
        self.lock = threading.Lock()
        self.known: OrderedDict[bytes, Future] = OrderedDict()

    def start(self, text: bytes) -> Future:
        """The reading of a picture, under way or done. Its result raises Refused for what is no picture."""
        key = hashlib.blake2b(text, digest_size=20).digest()
        with self.lock:
            future = self.known.get(key)
            if future is not None:
                self.known.move_to_end(key)
                return future
            future = self.known[key] = self.pool.submit(self._read, text)
            if len(self.known) > self.kept:
                self.known.popitem(last=False)
        # Outside of the lock: what has failed already is forgotten here and now.
        future.add_done_callback(lambda f: self._forget(key, f))
        return future

    def _forget(self, key: bytes, future: Future) -> None:
        """What failed is tried again when it is asked for again."""
        if future.cancelled() or future.exception() is not None:
            with self.lock:
                if self.known.get(key) is future:
                    del self.known[key]

    def _read(self, text: bytes):
        reading = self.reader.read(opened(text))
        # As parsed from SMILES, where RDKit marks all that may be asked for, such as stereocentres that were drawn without wedges.
        return replace(reading, molecule=Chem.MolFromSmiles(reading.smiles) if reading.smiles else None)

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)


def opened(text: bytes) -> Image.Image:
    """The picture as RGB, upright, transparency laid on white."""
    try:
        image = Image.open(io.BytesIO(base64.b64decode(text, validate=True)), formats=("PNG", "JPEG", "WEBP", "GIF"))
        if image.width * image.height > MOST_PIXELS:
            raise Refused(
                f"the picture has {image.width} × {image.height} pixels; at most {MOST_PIXELS} in all are taken"
            )
        image = ImageOps.exif_transpose(image)
        if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            image = image.convert("RGBA")
            white = Image.new("RGBA", image.size, "white")
            image = Image.alpha_composite(white, image)
        return image.convert("RGB")
    except binascii.Error as error:
        raise Refused("an image is not base64") from error
    except UnidentifiedImageError as error:
        raise Refused("cannot identify image file") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise Refused(f"an image is broken: {error}") from error
