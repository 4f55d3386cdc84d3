"""Faults that tests with random specs (tests/fuzz) have found: each ends in one line, at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.errors import WrongInput
from tasks.study.reading import read_study
from tasks.study.traces import Traces, check_traces, snapshot_steps

SPEC = {"name": "x", "data": "[dsprites]", "methods": "{beta_vae: [1]}"}
LEVELS = [f"&a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
MERGED = [f"&a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 10)]
HUGE = "0x" + "f" * 9999  # Python reads it, and cannot write it


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("about", f"[&a0 [1, 1], {', '.join(LEVELS)}]", "more than 500,000 values"),
        ("about", f"[&a0 {{b: 1}}, {', '.join(MERGED)}]", "more than 500,000 values"),
        ("seeds", "&a [*a]", "an alias .* within the value of itself"),
        ("seeds", HUGE, "a whole number of 9,999 digits"),
        ("methods", f"{{beta_vae: [{HUGE}]}}", "a whole number of 9,999 digits"),
        ("metrics", f"{{label_noise: {{shape: {HUGE}}}}}", "a whole number of 9,999 digits"),
        ("seeds", "1:" * 3000 + "1", "a whole number of 6,001 digits"),
        ("about", '"\\udcff"', "half a letter"),
        ("metrics", '{label_noise: {"\\udcff": 1}}', "half a letter"),
        ("about", "x" * 2**20, "more than 1,048,576 characters"),
        ("metrics", "{points: 4000000000}", "4000000000; accepted: less than 2147483648"),
        ("probe", "4000000000", "4000000000; accepted: less than 2147483648"),
        ("data", "[{folder: [x]}]", r"\['x'\] as folder or images"),
        ("data", "[{folder: ~nobody-here/x}]", "the home of a user of this machine"),
    ],
)
def test_a_spec_is_refused_in_one_line(
    field: str, value: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "spec.yaml"
    lines = {**SPEC, field: value}
    path.write_text("".join(f"{key}: {text}\n" for key, text in lines.items()))
    with pytest.raises(WrongInput, match=message) as refused:
        read_study(str(path))
    assert len(str(refused.value)) < 2000 and "\n" not in str(refused.value)


def test_a_key_of_any_length_is_cut_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(f"{'k' * 900_000}: 1\n")
    with pytest.raises(WrongInput) as refused:
        read_study(str(path))
    assert len(str(refused.value)) < 2000


def test_a_number_that_python_cannot_write_has_a_message() -> None:
    assert "thousands of digits" in str(WrongInput("seeds", 10**5000, "less"))


@pytest.mark.parametrize("spec", ["a" * 5000, "a" * 300 + ".yaml", "a\0b", "/dev/zero"])
def test_what_is_no_file_is_no_spec(spec: str) -> None:
    with pytest.raises(WrongInput, match="SPEC: found"):
        read_study(spec)


@pytest.mark.parametrize("traces", [Traces(every=1), Traces(count=2**31 - 1)])
def test_snapshots_that_are_too_many_are_not_listed(traces: Traces) -> None:
    with pytest.raises(WrongInput, match="107,374,183 snapshots"):
        check_traces(traces, 2**31 - 1)
    assert snapshot_steps(traces, 250) == (*range(20, 250, 20), 250)
