"""What holds for all tests, and a wheel of this tree."""

import os
import signal
import zipfile
from pathlib import Path

import pytest

from infra.runtime import WORKER
from tests.additions import ADDITIONS
from tests.tree import copy_tree, python_in

# As on workers: the tests' arrays are small, and threads cost more than they save. Numpy, torch and
# numba read these variables when they are imported.
for name, value in WORKER.items():
    if name.endswith("_NUM_THREADS"):
        os.environ.setdefault(name, value)

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Inherited from a shell that started the tests in the background, and handed on to all that
    # they start, which would then not end at a Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with additions, and with a secret that no wheel may hold."""
    copy = copy_tree(tmp_path_factory.mktemp("sources"))
    for addition in ADDITIONS:
        addition.make(copy)
    (copy / "infra" / "deploy" / "secret.env").write_text("PASSWORD=secret")
    return copy


@pytest.fixture(scope="session")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    offline = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    python_in(sources, sources, "-m", "pip", "wheel", *offline, "--wheel-dir", str(folder), ".")
    (built,) = folder.iterdir()
    return zipfile.ZipFile(built)
