"""Files of codes or models in each format: valid ones, and ones with hostile arrays and headers."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from tests.fuzz.mutations import names

Arrays = dict[str, NDArray[Any]]

ODD_KINDS = ["O", "M8[s]", "m8[ns]", "c8", "c16", "S3", "U3", "V4", "f2", "g", "u8", ">f8", "?"]
ODD_KINDS += ["i4,f8", "(2,2)f4", "U0", "S0", "V0", "i1", ">i8"]
EXTREMES = [0.0, -0.0, 1e149, 1e151, -1e300, 5e-324, np.nan, np.inf, -np.inf, 2.0**63, 1e-160]
WHOLE = [0, 1, -1, 2**31, -(2**31), 2**53 + 1, 2**62, -(2**63), 2**63 - 1]


def array(kind: Any, shape: Any) -> st.SearchStrategy[NDArray[Any]]:
    """Numbers, often extreme ones, also in another order of the bytes in memory."""
    dtype = np.dtype(kind)
    elements: Any = None
    if dtype.kind == "f":
        most = float(np.finfo(dtype).max)
        fitting = [x for x in EXTREMES if not np.isfinite(x) or abs(x) <= most]
        plain = st.floats(-8, 8, width=16)
        elements = st.one_of(plain, plain, plain, st.sampled_from(fitting))
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = [x for x in WHOLE if limits.min <= x <= limits.max]
        elements = st.one_of(st.integers(0, 3), st.integers(0, 3), st.sampled_from(whole))
    fill = None if elements is None else st.just(0)
    made = hnp.arrays(dtype, shape, elements=elements, fill=fill)
    views = [lambda a: a, lambda a: a, np.asfortranarray, lambda a: a[::-1] if a.ndim else a]
    return st.builds(lambda a, view: view(a), made, st.sampled_from(views))


@st.composite
def codes_and_factors(draw: Any) -> Arrays:
    """Arrays that are mostly right, so that most cases pass the first checks."""
    rows = draw(st.integers(0, 12))
    codes = draw(
        array(draw(st.sampled_from(["f4", "f8", "f2", "i4"])), (rows, draw(st.integers(0, 4))))
    )
    factors = draw(
        array(
            draw(st.sampled_from(["i8", "u1", "i4", "f8", "u8"])), (rows, draw(st.integers(0, 3)))
        )
    )
    content: Arrays = {"codes": codes, "factors": factors}
    if draw(st.booleans()):
        many = st.lists(names(), min_size=0, max_size=4)
        content["factor_names"] = np.array(draw(many), draw(st.sampled_from(["U", "O", "U2"])))
    if draw(st.integers(0, 3)) == 0:
        kinds = st.lists(st.sampled_from(["discrete", "continuous", "x"]), max_size=3)
        content["factor_kinds"] = np.array(draw(kinds), "U")
    if draw(st.integers(0, 3)) == 0:
        content["validation_codes"] = draw(array("f8", (draw(st.integers(0, 4)), codes.shape[1])))
        content["validation_factors"] = draw(array("f8", (4, draw(st.integers(0, 3)))))
    return _with_oddities(draw, content)


@st.composite
def models(draw: Any) -> Arrays:
    """Codes of several models, KL and names."""
    count, latents = draw(st.integers(0, 4)), draw(st.integers(0, 3))
    shape = (count, draw(st.integers(0, 8)), latents)
    content: Arrays = {"codes": draw(array(draw(st.sampled_from(["f4", "f8"])), shape))}
    if draw(st.booleans()):
        content["kl"] = draw(array("f8", (count, draw(st.sampled_from([latents, latents, 1])))))
    if draw(st.booleans()):
        content["names"] = np.array(draw(st.lists(names(), min_size=count, max_size=count)), "U")
    return _with_oddities(draw, content)


@st.composite
def traces(draw: Any) -> Arrays:
    """Activations of models in training, and their groups."""
    count = draw(st.integers(0, 4))
    shape = (count, draw(st.integers(0, 3)), draw(st.integers(0, 4)), draw(st.integers(0, 3)))
    kind = draw(st.sampled_from(["f2", "f4", "f8", "i4"]))
    group = st.sampled_from(["a", "a", "b", "\x1b[31m"])
    groups = np.array(draw(st.lists(group, min_size=count, max_size=count)), "U")
    content: Arrays = {"traces": draw(array(kind, shape)), "groups": groups}
    if draw(st.booleans()):
        content["layers"] = np.array(draw(st.lists(names(), max_size=3)), "U")
    return _with_oddities(draw, content)


def _with_oddities(draw: Any, content: Arrays) -> Arrays:
    """Now and then an array of another type or shape, or none."""
    if draw(st.integers(0, 2)) == 0:
        name = draw(st.sampled_from(sorted(content)))
        if draw(st.integers(0, 5)) == 0:
            return {key: value for key, value in content.items() if key != name}
        shape = draw(
            st.one_of(st.just(content[name].shape), hnp.array_shapes(max_side=4, min_dims=0))
        )
        odd = np.empty(shape, np.dtype(draw(st.sampled_from(ODD_KINDS))))
        if odd.dtype.hasobject:
            odd[...] = Thing()
        elif odd.dtype.kind == "S":
            odd[...] = b"\xff\xfe"
        return {**content, name: odd}
    return content


class Thing:
    """An object that a pickle can hold."""


def write(path: Path, content: Arrays) -> bool:
    """Whether the format can hold these arrays; those that it can are written."""
    try:
        if path.suffix == ".npz":
            np.savez(path, **content)
        elif path.suffix == ".h5":
            _write_hdf5(path, content)
        else:
            _write_table(path, content)
    except (
        TypeError,
        ValueError,
        NotImplementedError,
        OverflowError,
        pa.ArrowException,
        UnicodeError,
    ):
        return False
    return True


def _write_hdf5(path: Path, content: Arrays) -> None:
    with h5py.File(path, "w") as file:
        for name, values in content.items():
            if values.dtype.kind == "U":
                values = values.astype("O")
            more = {"chunks": True, "compression": "gzip"} if values.size > 4 else {}
            file.create_dataset(name, data=values, **more)


def _write_table(path: Path, content: Arrays) -> None:
    columns: dict[str, Any] = {}
    given = content.get("factor_names", np.array([]))
    for name, prefix in (("codes", "codes_"), ("factors", "factor_")):
        if name in content and content[name].ndim == 2:
            for place, column in enumerate(content[name].T):
                label = given[place] if name == "factors" and place < len(given) else place
                columns[f"{prefix}{label}"] = column
    table = pa.table({name: pa.array(column.copy()) for name, column in columns.items()})
    if path.suffix == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        pq.write_table(table, path)


# headers that lie -----------------------------------------------------------------------------


def npy_bytes(header: str, content: bytes = b"") -> bytes:
    """An .npy file with a header of one's own."""
    text = header.encode("latin-1", "replace")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return npy_format.magic(1, 0) + struct.pack("<H", min(len(text), 65535)) + text + content


def npz_bytes(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def headers() -> st.SearchStrategy[str]:
    """Headers of .npy files with sizes, types and orders of their own."""
    side = st.one_of(st.integers(-2, 5), st.sampled_from([2**31, 2**40, 2**63, 10**20, 0]))
    shapes = st.one_of(
        st.lists(side, max_size=4).map(lambda sides: str(tuple(sides))),
        st.sampled_from(["()", "(True,)", "('a',)", "[3]", "None", "(1e3,)", "(" * 90 + ")" * 90]),
    )
    kinds = st.one_of(
        st.sampled_from(
            ["<f8", "<f4", "|O", "|V0", "<U0", "|S2147483647", "<M8[s]", "", "x" * 99]
        ).map(repr),
        st.sampled_from(["[('a', '<f8')]", "[('a', '|O')]", "('<f8', (9999, 9999))", "None", "1"]),
    )
    orders = st.sampled_from(["True", "False", "1", "None"])
    return st.builds(
        "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}".format, kinds, orders, shapes
    )
