"""What a result is made with is read from the checkout and the machine, or left out."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from infra import provenance
from infra.peak_memory import peak_megabytes, reset_peak

X86 = "model name\t: AMD EPYC\nflags\t\t: fpu sse2 avx avx2 avx512f\n\nmodel name\t: another\n"


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_of_a_checkout_says_whether_files_differ(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    number = git(tmp_path, "rev-parse", "HEAD")
    assert provenance.commit(tmp_path) == number and len(number) == 40
    git(tmp_path, "tag", "--annotate", "v1", "-m", "a release")
    assert provenance.commit(tmp_path) == number
    (tmp_path / "notes").write_text("not of the code")
    assert provenance.commit(tmp_path) == number
    (tmp_path / "pyproject.toml").write_text("# changed")
    assert provenance.commit(tmp_path) == f"{number}+changes"


def test_a_wheel_in_another_projects_checkout_has_no_commit_and_no_lock(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-qm", "theirs", "--allow-empty")
    (tmp_path / "requirements.lock").write_text("theirs==1")
    packages = tmp_path / "site-packages"
    packages.mkdir()
    assert [provenance.commit(packages), provenance.lock_hash(tmp_path)] == ["", ""]


def test_the_lock_is_known_by_its_hash(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    assert provenance.lock_hash(tmp_path) == ""
    (tmp_path / "requirements.lock").write_text("numpy==2.4.6\n")
    wanted = hashlib.sha256(b"numpy==2.4.6\n").hexdigest()
    assert provenance.lock_hash(tmp_path) == wanted


@pytest.mark.parametrize(
    ("text", "processor", "instructions"),
    [
        (X86, "AMD EPYC", "AVX-512"),
        ("Features : fp asimd sve\n", None, "SVE"),
        ("", None, None),
    ],
)
def test_the_processor_and_its_widest_instructions(tmp_path, text, processor, instructions):
    (tmp_path / "cpuinfo").write_text(text)
    facts = provenance.machine(tmp_path / "cpuinfo")
    assert processor is None or facts["processor"] == processor
    assert facts["processor"]
    assert facts["instructions"].partition(", ")[2] == (instructions or "")


def test_what_is_not_known_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda: "")
    provenance.made_with.cache_clear()
    assert "commit" not in provenance.made_with()
    assert provenance.made_with().keys() >= {"processor", "instructions"}
    provenance.made_with.cache_clear()


def test_the_peak_is_that_since_the_reset():
    if not reset_peak():
        pytest.skip("this system does not count it")
    before = peak_megabytes()
    kept = bytearray(50_000_000)
    with_it = peak_megabytes()
    del kept
    assert 45 < with_it - before < 80
    assert peak_megabytes() > with_it - 10, "the peak, not what is in use now"
    assert reset_peak()
    assert peak_megabytes() < with_it - 40


def test_a_system_that_cannot_reset_the_peak_says_so(tmp_path):
    assert not reset_peak(tmp_path / "none")
    assert peak_megabytes(tmp_path) is None
