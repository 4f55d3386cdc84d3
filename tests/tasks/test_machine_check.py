"""A machine is checked once for every kind of network; bfloat16 needs instructions for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from data.base.cache import ENVIRONMENT
from infra import processor
from infra.errors import WrongInput
from models.architecture import VAE
from models.layer_check import WrongLayer
from tasks import machine_check
from tasks.machine_check import check_machine
from tasks.study import precision
from tasks.study.precision import check_precision
from tasks.study.spec import Training


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """The precisions of all checks that are made."""
    made: list[object] = []
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(machine_check, "check_layers", lambda network, dtype: made.append(dtype))
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)
    return made


def test_a_network_is_checked_once_in_each_precision(checks: list[object]) -> None:
    for _ in range(2):
        check_machine(VAE(1, 5), Training())
        check_machine(VAE(1, 5), Training(precision="bfloat16"))
    assert checks == [torch.float32, torch.bfloat16]
    check_machine(VAE(3, 5), Training())
    check_machine(VAE(1, 5, fast=False), Training(fast=False))
    assert checks[2:] == [torch.float32] * 2


def test_another_processor_or_torch_is_checked_again(
    checks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_machine(VAE(1, 5), Training())
    monkeypatch.setattr(processor, "facts", lambda: {"model name": "another"})
    check_machine(VAE(1, 5), Training())
    monkeypatch.setattr(torch, "__version__", "99.0")
    check_machine(VAE(1, 5), Training())
    assert len(checks) == 3


def test_what_failed_is_not_remembered_as_right(
    checks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise WrongLayer("a layer")

    monkeypatch.setattr(machine_check, "check_layers", fail)
    for _ in range(2):
        with pytest.raises(WrongLayer):
            check_machine(VAE(1, 5), Training())


def test_bfloat16_is_refused_without_instructions_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda: False)
    check_precision(Training())
    check_precision(Training(precision="bfloat16", slow_bfloat16=True))
    check_precision(Training(precision="bfloat16"), on_gpu=True)
    with pytest.raises(WrongInput) as raised:
        check_precision(Training(precision="bfloat16"))
    line = str(raised.value)
    assert line.startswith("training.precision: found 'bfloat16'; accepted: float32")
    assert "training.slow_bfloat16: true" in line and "\n" not in line
    monkeypatch.setattr(precision, "has_bfloat16", lambda: None)
    check_precision(Training(precision="bfloat16"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16", True),
        ("flags\t\t: fpu amx_bf16 amx_tile", True),
        ("flags\t\t: fpu avx2 avx512f", False),
        ("Features\t: fp asimd bf16", True),
        ("Features\t: fp asimd", False),
        ("nothing of that kind", None),
    ],
)
def test_what_the_processor_says_of_bfloat16(
    tmp_path: Path, line: str, expected: bool | None
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nmodel name\t: bf16 avx512_bf16\n{line}\n\n")
    assert processor.has_bfloat16(cpuinfo) is expected
    assert processor.has_bfloat16(tmp_path / "missing") is None
