"""Caches the readings of the latest pictures, so that many questions about a picture need one reading. A picture takes
one thread."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import threading
from collections import OrderedDict
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from PIL import Image, ImageOps, UnidentifiedImageError
from rdkit import Chem

from .ink import flatten
from .reading import Reading
from .request import InvalidRequest

MAX_PIXELS = 64_000_000
"""The most pixels of a picture, for clients that call Triton directly: the gateway has its own limits."""


class PictureReader(Protocol):
    def read_page(self, image: Image.Image) -> list[Reading]:
        """Returns the readings of the drawings in the picture, or one reading that there is none."""


class ReadingCache:
    """The latest readings by the picture's bytes, done or in progress."""

    def __init__(self, reader: PictureReader, workers: int, size: int = 512) -> None:
        """Reads `workers` pictures at once and keeps the readings of `size`."""
        self.reader = reader
        self.size = size
        self.pool: Executor = ThreadPoolExecutor(workers, "reading")
        self.lock = threading.Lock()
        self.futures: OrderedDict[bytes, Future[list[Reading]]] = OrderedDict()

    def start(self, picture: bytes) -> Future[list[Reading]]:
        """Returns the readings of a picture, given as base64 of its file. result() raises InvalidRequest if the picture
        cannot be decoded."""
        key = hashlib.blake2b(picture, digest_size=20).digest()
        with self.lock:
            future = self.futures.get(key)
            if future is not None:
                self.futures.move_to_end(key)
                return future
            future = self.futures[key] = self.pool.submit(self._read, picture)
            if len(self.futures) > self.size:
                self.futures.popitem(last=False)
        # Outside the lock: if the reading has failed already, the callback runs here and takes the lock.
        future.add_done_callback(lambda done: self._evict_failed(key, done))
        return future

    def _evict_failed(self, key: bytes, future: Future[list[Reading]]) -> None:
        """Evicts a failed reading, so that the next request tries again."""
        if future.cancelled() or future.exception() is not None:
            with self.lock:
                if self.futures.get(key) is future:
                    del self.futures[key]

    def _read(self, picture: bytes) -> list[Reading]:
        # Parsed again from SMILES, so that RDKit also marks stereocentres that were drawn without wedges.
        return [
            replace(
                reading,
                molecule=Chem.MolFromSmiles(reading.smiles) if reading.smiles else None,
                drawn=reading.molecule,
            )
            for reading in self.reader.read_page(decode_picture(picture))
        ]

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)


def decode_picture(picture: bytes) -> Image.Image:
    """Returns the picture in RGB, upright, with white behind transparent pixels."""
    try:
        image: Image.Image = Image.open(
            io.BytesIO(base64.b64decode(picture, validate=True)), formats=("PNG", "JPEG", "WEBP", "GIF")
        )
        if image.width * image.height > MAX_PIXELS:
            raise InvalidRequest(
                f"the picture has {image.width} × {image.height} pixels; at most {MAX_PIXELS:,} are allowed"
            )
        return flatten(ImageOps.exif_transpose(image))
    except Image.DecompressionBombError as error:
        raise InvalidRequest(f"the picture is too large: at most {MAX_PIXELS:,} pixels are allowed") from error
    except binascii.Error as error:
        raise InvalidRequest("an image is not base64") from error
    except UnidentifiedImageError as error:
        raise InvalidRequest("cannot identify image file") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise InvalidRequest(f"an image is broken: {error}") from error
