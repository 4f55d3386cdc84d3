"""Small pictures and factors, written in every format that a user may have them in."""

from __future__ import annotations

import io
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

NAMES = ("shape", "size")


def pictures(count: int = 12, channels: int = 3, side: int = 64) -> np.ndarray:
    """Random pictures (count, side, side, channels); no two are equal."""
    stream = np.random.default_rng(side + channels)
    return stream.integers(0, 256, (count, side, side, channels), np.uint8)


def factors(count: int = 12) -> np.ndarray:
    """Two columns with three and two values; every combination comes up for `count` >= 6."""
    return np.stack([np.arange(count) % 3 * 10, np.arange(count) // 3 % 2], axis=1)


def encoded(picture: np.ndarray, format_: str = "png") -> bytes:
    """A picture (h, w), (h, w, 1) or (h, w, 3) as a file's bytes."""
    file = io.BytesIO()
    Image.fromarray(picture.squeeze()).save(file, format_)
    return file.getvalue()


def write(file: Path, images: np.ndarray, table: np.ndarray | None = None) -> str:
    """`images`, and `table` beside them, in the format that the file's name tells."""
    names = list(NAMES)
    match file.suffix:
        case ".npy":
            np.save(file, images)
        case ".npz":
            more = {} if table is None else {"factors": table, "factor_names": np.array(names)}
            np.savez_compressed(file, images=images, **more)
        case ".h5" | ".hdf5":
            with h5py.File(file, "w") as opened:
                opened.create_dataset("images", data=images, compression="gzip", chunks=True)
                if table is not None:
                    opened["factors"] = table
                    opened["factors"].attrs["factor_names"] = names
        case ".parquet":
            columns = {"image": [encoded(image) for image in images]}
            if table is not None:
                columns |= dict(zip(names, table.T, strict=True))
            pq.write_table(pa.table(columns), file)
    return str(file)


def write_table(file: Path, table: np.ndarray) -> str:
    """`table` alone."""
    match file.suffix:
        case ".npy":
            np.save(file, table)
        case ".npz":
            np.savez(file, factors=table, factor_names=np.array(NAMES))
        case ".h5":
            with h5py.File(file, "w") as opened:
                opened["factors"], opened["factor_names"] = table, list(NAMES)
        case ".parquet":
            pq.write_table(pa.table(dict(zip(NAMES, table.T, strict=True))), file)
        case ".csv":
            rows = [",".join(map(str, row)) for row in table.tolist()]
            file.write_text("\n".join([",".join(NAMES), *rows]) + "\n")
    return str(file)
