"""Arrays in HDF5 files, which must lie in the file itself and be about as large as they claim."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

LARGEST_CHUNK = 2**28  # bytes, as HDF5 unpacks a chunk as a whole
MOST_PACKED = 10_000  # no compression of real data saves more than this factor


def opened(path: Path) -> Any:
    """The file, to be closed by `with`."""
    import h5py

    # Chunks that reach over the end of a block stay in memory for the next block.
    return h5py.File(path, "r", rdcc_nbytes=LARGEST_CHUNK, rdcc_nslots=100_003)


def names(file: Any) -> list[str]:
    """What the file holds. h5py gives a name that is no text as bytes."""
    return [
        name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in file
    ]


def stored(file: Any, name: str) -> Any:
    """The dataset of that name, of which nothing has been read, or None."""
    import h5py

    # A link of another kind can lead to another file of this machine.
    if not isinstance(file.get(name, getlink=True) if name in file else None, h5py.HardLink):
        return None
    array = file[name]
    if not isinstance(array, h5py.Dataset):
        return None
    if array.external or array.is_virtual:
        raise ValueError(f"{name} that lies outside the file")
    if array.shape is None:
        raise ValueError(f"{name} without any values")
    if array.chunks and math.prod(array.chunks) * array.dtype.itemsize > LARGEST_CHUNK:
        raise ValueError(f"chunks {array.chunks} of more than {LARGEST_CHUNK} bytes")
    claimed, size = math.prod(array.shape) * array.dtype.itemsize, array.id.get_storage_size()
    if claimed > MOST_PACKED * size:
        raise ValueError(f"{size} bytes for {array.shape} {array.dtype}, which takes {claimed}")
    return array
