"""Spec files: presets with faults, and YAML whose values are hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from tasks.study.reading import PRESETS, parse_study, preset_names, read_study
from tasks.study.spec import Study
from tests.fuzz.cases import IN_TWO_SIZES, accepted, only_in, run
from tests.fuzz.mutations import edited, edits, names

TEXTS = [(PRESETS / f"{name}.yaml").read_bytes() for name in preset_names()]
ODD_YAML = ["!!python/object/apply:os.system [id]", "!!binary aGk=", "!!set {a, b}", "2020-13-45"]
ODD_YAML += [".inf", "-.inf", ".nan", "1e400", "0x" + "f" * 9999, "9" * 9999, "1:" * 99 + "1"]
ODD_YAML += [
    "&a [*a]",
    "*missing",
    "{a: &b [1], c: *b}",
    "[" * 500 + "]" * 500,
    "? [1]\n: 2",
    "-0.0",
]
ODD_YAML += ["{1: 2}", "{null: 2}", "2147483648", "9223372036854775808", "-1", "1e308", "5e-324"]
FIELDS = [
    *("name", "about", "data", "sources", "methods", "seeds", "architecture", "latents", "probe"),
    *("training.steps", "training.learning_rate", "training.gpus_per_model", "metrics"),
    *("training.minutes_per_model", "metrics.names", "metrics.points", "metrics.label_noise"),
    *("udr.similarities", "udr.kl_threshold", "udr.p", "traces", "traces.every", "traces.vary"),
    *("dynamics", "dynamics.layers", "dynamics.draws", "running.order", "running.storage_minutes"),
    *("methods.beta_vae", "training", "udr", "running", "no", "a.b.c", "data.0", "traces.count"),
]


def values() -> st.SearchStrategy[Any]:
    numbers = st.one_of(st.integers(-2, 5), st.integers(), st.floats(), st.booleans(), st.none())
    known = st.sampled_from(["dsprites", "beta_vae", "mig", "lasso", "cell", "float16", "dense1"])
    own = st.fixed_dictionaries(
        {},
        optional={
            field: names() for field in ("name", "folder", "images", "factors", "source", "content")
        },
    )
    plain = st.one_of(numbers, known, names(), own)
    return st.recursive(
        plain,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.one_of(known, names(), st.integers()), inner, max_size=3),
        ),
        max_leaves=8,
    )


def check(path: Path, overrides: list[str]) -> Study | None:
    """A study that is accepted is the same after a store has kept it."""
    with only_in(path.parent):
        study = accepted(lambda: read_study(str(path), overrides))
    if study is not None:
        kept = json.dumps(study.model_dump(mode="json"))
        assert parse_study(json.loads(kept)) == study
        assert study.values_of("latents")
    return study


@IN_TWO_SIZES
def test_presets_with_faults(cases: int, tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"

    def one(text: bytes, changes: Any) -> None:
        path.write_bytes(edited(text, changes))
        check(path, [])

    run(cases, one, text=st.sampled_from(TEXTS), changes=edits())


@IN_TWO_SIZES
def test_hostile_values(cases: int, tmp_path: Path) -> None:
    """As values of known and unknown fields, in the file and by --set."""
    path = tmp_path / "spec.yaml"

    def one(fields: dict[str, Any], sets: list[tuple[str, str]]) -> None:
        spec = {"name": "x", "data": ["dsprites"], "methods": {"beta_vae": [1]}}
        for field, value in fields.items():
            section, _, key = field.partition(".")
            spec[section] = {key: value} if key else value
        path.write_text(yaml.safe_dump(spec, allow_unicode=True), "utf-8", "surrogatepass")
        check(path, [f"{key}={text}" for key, text in sets])

    texts = st.one_of(st.sampled_from(ODD_YAML), st.text(max_size=8), st.integers().map(str))
    run(
        cases,
        one,
        fields=st.dictionaries(st.sampled_from(FIELDS), values(), max_size=3),
        sets=st.lists(st.tuples(st.sampled_from(FIELDS), texts), max_size=2),
    )


@IN_TWO_SIZES
def test_odd_yaml(cases: int, tmp_path: Path) -> None:
    """Tags, anchors, numbers of thousands of digits and stray signs, in place of fields."""
    path = tmp_path / "spec.yaml"

    def one(fields: dict[str, str]) -> None:
        lines = {"name": "x", "data": "[dsprites]", "methods": "{beta_vae: [1]}"}
        for field, text in fields.items():
            section, _, key = field.partition(".")
            lines[section] = f"{{{key}: {text}}}" if key else text
        text = "".join(f"{key}: {value}\n" for key, value in lines.items())
        path.write_text(text, "utf-8", "surrogatepass")
        check(path, [])

    signs = st.text("[]{}&*!|>'\"%@`#-?:,a1 \n\t", max_size=20)
    texts = st.one_of(st.sampled_from(ODD_YAML), st.sampled_from(ODD_YAML), signs)
    lines = st.dictionaries(st.sampled_from(FIELDS), texts, min_size=1, max_size=3)
    run(cases, one, fields=lines)
