"""One picture of any size and mode, as the 64x64 pixels that models get."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from data.base.pixels import SIDE, Pixels
from data.base.reading import CANNOT_BE_READ, reading
from infra.errors import WrongInput

if TYPE_CHECKING:
    from pathlib import Path

    from PIL import Image

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 64  # pictures in memory
LARGE = 2**22  # pixels of a picture that is drawn while no other large one is: a file of 300 kB
# may have 89 million, which take up to 2 GB until they are 64x64
_ONE_LARGE = Lock()
MOST_NAMED = 10  # broken pictures
DEEP_GREY = {"I", "I;16", "I;16L", "I;16B", "I;16N", "F"}
GREY = {"1", "L", "LA", "La"} | DEEP_GREY
# Pillow knows these formats but cannot draw them, or lets another program do it.
NOT_PICTURES = {"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"}


@dataclass(frozen=True)
class Pictures:
    """Pictures that are not read yet: `blocks` gives (some, channels, 64, 64) each."""

    count: int
    channels: int
    blocks: Callable[[], Iterator[Pixels]]
    ignored: Mapping[str, int] = field(
        default_factory=dict
    )  # how many other files there were, by ending
    transparent: int = 0  # pictures that are not opaque
    skipped: int = 0  # broken pictures that are left out


def in_blocks(
    items: Iterable[Item], draw: Callable[[Item], Pixels], refused: Sequence[WrongInput] = ()
) -> Iterator[Pixels]:
    """`draw` of all items in their order. All are tried before an error names those that cannot be
    drawn, with those that were `refused` before."""
    refusals = list(refused)
    for results in attempts(items, draw):
        refusals += [result for result in results if isinstance(result, WrongInput)]
        if drawn := [result for result in results if not isinstance(result, WrongInput)]:
            yield np.stack(drawn)
    if refusals:
        raise _together(refusals)


def attempts(
    items: Iterable[Item], work: Callable[[Item], Result]
) -> Iterator[list[Result | WrongInput]]:
    """Results or refusals in the order of the items, some at a time, by several threads: Pillow
    releases Python's lock."""

    def attempt(item: Item) -> Result | WrongInput:
        try:
            return work(item)
        except WrongInput as error:
            return error

    remaining = iter(items)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
        while block := list(islice(remaining, AT_ONCE)):
            yield list(threads.map(attempt, block))


def _together(refusals: Sequence[WrongInput]) -> WrongInput:
    """One error for all, which names the first."""
    first = refusals[0]
    if len(refusals) == 1:
        return first
    names = [str(refusal.found).replace(CANNOT_BE_READ, "") for refusal in refusals[:MOST_NAMED]]
    more = f"; and {len(refusals) - MOST_NAMED} more" if len(refusals) > MOST_NAMED else ""
    found = f"{len(refusals)} pictures that cannot be read: {'; '.join(names)}{more}"
    return WrongInput(first.field, found, first.accepted)


@dataclass(frozen=True)
class Kind:
    """What is to be known of a picture before it is drawn."""

    is_grey: bool
    is_transparent: bool


@cache
def formats() -> tuple[list[str], dict[str, str]]:
    """The formats that Pillow can draw, and the extensions of their files."""
    from PIL import Image

    Image.init()
    known = sorted(set(Image.OPEN) - NOT_PICTURES)
    return known, {end: of for end, of in Image.registered_extensions().items() if of in known}


@contextmanager
def opened(source: Path | IO[bytes], field: str, name: str) -> Iterator[Image.Image]:
    """The picture, of which only the header has been read; errors inside name it."""
    from PIL import Image, UnidentifiedImageError

    limit = Image.MAX_IMAGE_PIXELS or float("inf")
    too_large = f"pictures of at most {limit} pixels"
    with reading(field, name, "pictures that Pillow can read, whole"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # refused below
                image = Image.open(source, formats=formats()[0])
        except Image.DecompressionBombError as error:
            raise WrongInput(field, f"{name}, a decompression bomb", too_large) from error
        except UnidentifiedImageError as error:
            raise ValueError("no picture") from error
        with image:
            pixels = image.width * image.height
            if pixels > limit:
                raise WrongInput(field, f"{name} of {image.width}x{image.height}", too_large)
            with _ONE_LARGE if pixels > LARGE else nullcontext():
                yield image


def kind_of(image: Image.Image) -> Kind:
    """Only the header is read, or all of a picture that can be transparent."""
    can_be = image.has_transparency_data and image.mode not in DEEP_GREY
    is_transparent = can_be and np.asarray(_with_alpha(image).getchannel("A")).min() < 255
    return Kind(image.mode in GREY, bool(is_transparent))


def _with_alpha(image: Image.Image) -> Image.Image:
    return _in_mode(image, "LA" if image.mode in GREY else "RGBA")


def _in_mode(image: Image.Image, mode: str) -> Image.Image:
    """Pillow copies a picture that has the mode already."""
    return image if image.mode == mode else image.convert(mode)


def drawn(image: Image.Image, channels: int) -> Pixels:
    """The upright middle square of the first frame on black, (channels, 64, 64)."""
    from PIL import ImageOps

    ImageOps.exif_transpose(image, in_place=True)
    image = eight_bit(middle_square(image))
    return resized(_in_mode(image, "L" if channels == 1 else "RGB"))


def middle_square(image: Image.Image) -> Image.Image:
    """The largest square in the middle."""
    side = min(image.size)
    if image.size == (side, side):
        return image
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


def resized(image: Image.Image) -> Pixels:
    """A square L or RGB picture as (channels, 64, 64); one of that size is not changed."""
    from PIL import Image

    if image.size != (SIDE, SIDE):
        image = image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    return np.ascontiguousarray(np.asarray(image).reshape(SIDE, SIDE, -1).transpose(2, 0, 1))


def eight_bit(image: Image.Image) -> Image.Image:
    """The picture as L or RGB; what is transparent is black."""
    from PIL import Image, ImageChops

    if image.mode in DEEP_GREY:
        return Image.fromarray(_from_deep_grey(np.asarray(image)))
    mode = "L" if image.mode in GREY else "RGB"
    if not image.has_transparency_data:
        return _in_mode(image, mode)
    *bands, alpha = _with_alpha(image).split()
    return Image.merge(mode, [ImageChops.multiply(band, alpha) for band in bands])


def _from_deep_grey(values: NDArray[Any]) -> Pixels:
    """16 bits rounded to 8; 32-bit whole numbers must fit 16 bits, real ones lie in [0, 1]."""
    if values.dtype.kind == "f":
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("real numbers outside [0, 1]")
        return np.rint(values * np.float32(255)).astype(np.uint8)
    if values.min() < 0 or values.max() > 65535:
        raise ValueError("whole numbers that do not fit 16 bits")
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
