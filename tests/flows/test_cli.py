"""The command line as people and programs meet it."""

from __future__ import annotations

import errno
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal
from unittest.mock import Mock

import pytest

from flows.cli import app, main
from flows.commands.data import data_app
from flows.options import whole_number
from tasks.study.reading import PRESETS
from tests.flows.conftest import tolstoy, write_spec
from tests.timelines import check_timeline

COMMANDS = [name for name in app if not name.startswith("-")]
DATA_COMMANDS = [name for name in data_app if not name.startswith("-")]
README = Path(__file__).parents[2] / "README.md"


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert main([command, "--help"]) == 0
        assert f"Example: tolstoy {command}" in " ".join(capsys.readouterr().out.split())


def test_every_command_stands_in_the_documentation() -> None:
    page = (README.parent / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [command for command in COMMANDS if f"tolstoy {command}" not in page] == []


def test_every_whole_number_is_read_by_our_own_function() -> None:
    """Cyclopts alone rounds 1.5 and says nothing."""
    others = [name for name in COMMANDS if name != "data"]
    commands = [*(app[name] for name in others), *(data_app[name] for name in DATA_COMMANDS)]
    numbers = [
        argument
        for command in commands
        for argument in command.assemble_argument_collection()
        if argument.hint in (int, int | None)
    ]
    assert len(numbers) > 10
    assert [each.name for each in numbers if each.parameter.converter is not whole_number] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_every_command_and_its_options(
    shell: Literal["bash", "zsh", "fish"],
) -> None:
    script = app.generate_completion(shell=shell)
    options = ("timeline", "calibrate", "watch", "dry-run")  # of run, plan, status, data clean
    assert [word for word in (*COMMANDS, "fetch", *options) if word not in script] == []


def test_installing_completion_says_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["--install-completion", "--shell", "bash"]) == 0
    (script,) = (path for path in tmp_path.rglob("*") if path.name == "tolstoy")
    assert str(script) in capsys.readouterr().out
    assert "complete -F" in script.read_text()


SLOW = ("torch", "prefect", "ray", "pytorch_lightning", "sklearn", "pandas", "matplotlib", "numba")
NOT_FOR_HELP = (*SLOW, "numpy", "pyarrow", "pydantic", "markdown_it")
# The medians that a run prints at its end load pandas.
NOT_FOR_A_FINISHED_STUDY = tuple(name for name in SLOW if name != "pandas")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["rank", "--help"],
        ["plan", "SPEC"],
        ["status", "STORE"],
        ["cite"],
        ["run", "SPEC", "--store", "STORE"],
    ],
)
def test_light_commands_import_nothing_heavy(
    arguments: list[str], spec: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished study's run starts neither Ray nor Prefect."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    places = {"SPEC": str(spec), "STORE": str(undisturbed)}
    arguments = [places.get(word, word) for word in arguments]
    heavy = {"--help": NOT_FOR_HELP, "run": NOT_FOR_A_FINISHED_STUDY}.get(arguments[0], SLOW)
    script = (
        "import sys; from flows.cli import main; code = main(sys.argv[1:]);"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    main(arguments)  # the first plan on a machine measures training steps, with torch
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_lines_of_help_fit_a_terminal() -> None:
    """Help is printed as plain text: a longer line inside a paragraph would leave a ragged one."""
    commands = [app[name].default_command for name in app if not name.startswith("-")]
    for command in filter(None, commands):
        for paragraph in inspect.cleandoc(command.__doc__ or "").split("\n\n")[1:]:
            if "\n" in paragraph:
                assert max(map(len, paragraph.splitlines())) <= 79, (command, paragraph)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["plan", "smok"], ["SPEC", "smok", "did you mean smoke?"]),
        (["plan", "no/such/file.yaml"], ["SPEC", "no/such/file.yaml", "a YAML file"]),
        (["run", "smoke", "--set", "seeds=0"], ["seeds", "found 0", "a number from 1"]),
        (["run", "smoke", "--set", "seeds=[]"], ["seeds", "[]", "at least one"]),
        (["run", "smoke", "--set", "seeds=[1,1]"], ["seeds", "[1, 1]", "once"]),
        (["run", "smoke", "--set", "seeds"], ["--set", "seeds", "key=value"]),
        (["run", "smoke", "--set", "methods.beta_vea=[1]"], ["methods", "did you mean beta_vae?"]),
        (["run", "smoke", "--set", "methods={}"], ["methods", "{}", "beta_vae"]),
        (["run", "smoke", "--set", "methods.beta_vae=[]"], ["methods.beta_vae", "at least one"]),
        (
            ["run", "smoke", "--set", "methods.beta_vae=[a]"],
            ["methods.beta_vae.0", "'a'", "number"],
        ),
        (["run", "smoke", "--set", "methods.beta_vae=4"], ["methods.beta_vae", "4", "a list"]),
        (["run", "smoke", "--set", "methods.beta_vae=[-1]"], ["methods.beta_vae.0", "-1"]),
        (["run", "smoke", "--set", "methods.beta_vae=[.nan]"], ["methods.beta_vae.0", "finite"]),
        (["run", "smoke", "--set", "data=[dsprite]"], ["data", "did you mean dsprites?"]),
        (["run", "smoke", "--set", "metrics=[mgi]"], ["metrics.names", "did you mean mig?"]),
        (["run", "smoke", "--set", "udr.similarities=[laso]"], ["udr.similarities", "lasso?"]),
        (["run", "smoke", "--set", "udr.pools=[cells]"], ["udr.pools.0", "'cells'", "'method'"]),
        (["run", "smoke", "--set", "udr.seeds_per_cell=0"], ["udr.seeds_per_cell", "found 0"]),
        (["run", "smoke", "--set", "training.stepz=3"], ["training.stepz", "did you mean steps?"]),
        (["run", "smoke", "--set", "training.steps=1.5"], ["training.steps", "1.5", "integer"]),
        (["run", "smoke", "--set", "training=3"], ["training", "found 3", "a mapping"]),
        (["run", "smoke", "--set", "nam=3"], ["nam", "did you mean name?"]),
        (["run", "smoke", "--set", "name=a/b"], ["name", "a/b", "letters"]),
        (["run", "smoke", "--set", "architecture=papper"], ["architecture", "papper", "'paper'"]),
        (["run", "smoke", "--workers", "0"], ["--workers", "0", "from 1"]),
        (["run", "smoke", "--workers", "100000"], ["--workers", "100000", "from 1 to "]),
        (["run", "smoke", "--store", ""], ["store", "a folder or a URI"]),
        (["plan", "smoke", "--store", ""], ["store", "a folder or a URI"]),
        (["show", "3f", "--store", " "], ["store: found ' '", "a folder or a URI"]),
        (["plan", "smoke", "--set", f"name={'a' * 151}"], ["name", "at most 150 characters"]),
        (["run", "smoke", "--set", f"name={'a' * 151}"], ["name", "at most 150 characters"]),
        (["plan", "smoke", "--store", "a" * 256], ["store", "names of at most 255 bytes"]),
        (["run", "smoke", "--set", "training={steps: 1, steps: 2}"], ["--set training", "YAML"]),
        (["run", "smoke", "--workers", "two"], ["--workers: found 'two'; accepted: a whole"]),
        (
            ["run", "smoke", "--workers", "1.5"],
            ["--workers: found '1.5'; accepted: a whole number"],
        ),
        (["score", "a.npz", "--seed=-1.7"], ["--seed: found '-1.7'; accepted: a whole number"]),
        (["rank", "a", "--p", "1.e400"], ["--p: found '1.e400'; accepted: a whole number"]),
        (["data", "export", "a", "--seed", "0.5"], ["--seed: found '0.5'; accepted: a whole"]),
        (
            ["data", "list", "--data-dir", "~nobody-here/c"],
            ["--data-dir", "~nobody-here/c", "user"],
        ),
        (
            ["data", "export", "~nobody-here/x", "--sheet", "s.png"],
            ["data set: found '~nobody-here/x'", "~NAME is the home of a user"],
        ),
        (
            ["data", "list", "--data-dir", "~nobody-here/c"],
            ["--data-dir", "~nobody-here/c", "user"],
        ),
        (
            ["data", "export", "~nobody-here/x", "--sheet", "s.png"],
            ["data set: found '~nobody-here/x'", "~NAME is the home of a user"],
        ),
        (["serve", "--studies", "~nobody-here/x"], ["--studies: found '~nobody-here/x'", "user"]),
        (["--install-completion", "--shell", "zhs"], ["--shell: found 'zhs'", "mean zsh?"]),
        (["run", "smoke", "--json=perhaps"], ["--json: found 'perhaps'; accepted: true, false"]),
        (["run", "smoke", "--store"], ["--store: found 'nothing'; accepted: folder or URI"]),
        (["run", "smoke", "--store", "a", "--store", "b"], ["--store: found it twice"]),
        (["run", "smoke", "--data-dir", ""], ["--data-dir: found ''; accepted: a folder"]),
        (["data", "list", "--data-dir", " "], ["--data-dir: found ' '; accepted: a folder"]),
        (
            ["run", "smoke", "--set", "training.cpus_per_model=4096"],
            ["training.cpus_per_model: found 4096", "cores"],
        ),
        (
            ["run", "smoke", "--set", "metrics.cpus_per_model=1.5", "--workers", "1"],
            ["metrics.cpus_per_model: found 1.5; accepted: at most 1, "],
        ),
        (["run", "smoke", "--set", "fo\x1b[31mo\u2028=1"], [r"fo\x1b[31mo\u2028", "name, about"]),
        (["status"], ["STORE: found 'nothing'; accepted: a value (tolstoy status --help)"]),
        (["status", "a", "b"], ["arguments: found 'b'; accepted: no more than tolstoy status"]),
        (["run", "smoke", "--retry", "diverge"], ["--retry", "did you mean diverged?"]),
        (["run", "smoke", "--retry", ","], ["--retry: found ''; accepted: failed, diverged"]),
        (["run", "smoke", "--retry", ""], ["--retry: found ''; accepted: failed, diverged"]),
        (["run", "smoke", "--retry", "failed,"], ["--retry: found ''; accepted: failed, diverged"]),
        (["score", "--explain", "--metrics", "mig"], ["--explain: found '--metrics'; accepted"]),
        (["score", "--explain", "mig", "--parts"], ["--explain: found '--parts'; accepted: names"]),
        (["run", "smoke", "--stor", "x"], ["--stor", "--store"]),
        (["score", "--bogus"], ["option", "--bogus", "accepted: --metrics, --seed"]),
        (["rum", "smoke"], ["command: found 'rum'", "did you mean run?"]),
        (["data", "lst"], ["command: found 'lst'", "did you mean list?"]),
        (["data", "fetch", "shapes"], ["data set: found 'shapes'", "did you mean shapes3d?"]),
        (["run", "smoke", "--ray", "127.0.0.1:9"], ["--ray", "127.0.0.1:9", "refused"]),
        (["bench", "orchestra"], ["bench", "did you mean orchestration?"]),
        (["status", "/nowhere"], ["store", "/nowhere", "study.json"]),
        (["report", "/nowhere"], ["store", "/nowhere", "study.json"]),
    ],
)
def test_wrong_input_is_one_line_that_names_it(
    arguments: list[str],
    names: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.rstrip("\n").isprintable()
    assert all(name in err for name in names), err
    assert list(tmp_path.iterdir()) == [], "something was written"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("name: [", ["bad.yaml, line 1: found the end of the file; accepted: a value"]),
        ("name: a\n---\nname: b\n", ["line 2: found a second document (---); accepted: one"]),
        ("name: !!python/name:os.system a", ["found the tag !!python/name:os.system; accepted"]),
        ("name: !!bool x", ["found a value that does not fit its tag"]),
        ("name: a: b", ["a ':' that cannot be here; accepted: quotes around"]),
        ("\tname: a", ["line 1: found a tab; accepted: spaces in front of a line"]),
        ("name: @a", ["found '@' at the start of a value; accepted: quotes around"]),
        ("name: [a}", ["found the sign '}'; accepted: ',' or ']'"]),
        ("name: *a", ["found undefined alias 'a'; accepted: readable YAML"]),
        ("{name: a, [b]: c}", ["found a list or a mapping as a key; accepted: text as a key"]),
        ("name: 2020-13-01", ["found a date that does not exist"]),
        ("name: a\nname: b", ["line 2: found the key name twice; accepted: each key once"]),
        ("- a\n- b\n", ["bad.yaml: found a list; accepted: a mapping"]),
        ("", ["bad.yaml: found 'nothing'; accepted: a mapping"]),
        ("[" * 5000, ["found lists or mappings too deep in each other"]),
        ("name: no\ndata: [dsprites]\nmethods: {beta_vae: [1]}", ["name: found False", "quotes"]),
        ("name: x\ndata: [dsprites]\n", ["methods", "nothing"]),
        (b"\xff\xfe\x00", ["bad.yaml", "not text"]),
    ],
)
def test_unreadable_specs_are_refused(
    text: str | bytes, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "bad.yaml"
    spec.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["run", str(spec), "--store", str(tmp_path / "store")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert all(name in err for name in names), err
    assert not (tmp_path / "store").exists()


def test_a_store_of_another_spec_is_refused_and_untouched(
    undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (undisturbed / "study.json").read_bytes()
    other = write_spec(tmp_path / "other.yaml", latents=5)
    assert main(["run", str(other), "--store", str(undisturbed)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("tolstoy: latents: found 5; accepted: 10")
    assert (undisturbed / "study.json").read_bytes() == before


def test_a_folder_of_other_things_is_refused(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert main(["run", str(spec), "--store", str(tmp_path)]) == 2
    assert "an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_place_that_cannot_be_written_is_refused(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["run", str(spec), "--store", str(tmp_path / "file" / "store")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "a folder that can be written" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "shut/x"],
        ["report", "shut/x"],
        ["rank", "shut/x"],
        ["show", "a", "--store", "shut/x"],
        ["cite", "shut/x"],
        ["plan", "smoke", "--store", "shut/x"],
        ["run", "smoke", "--store", "shut/x"],
        ["run", "smoke", "--timeline", "shut/x.json"],
        ["score", "shut/x.npz"],
        ["data", "list", "--data-dir", "shut/x"],
    ],
)
def test_a_place_without_permission_is_one_line(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stat = os.stat

    def without_permission(path: object, **options: bool) -> os.stat_result:
        if "/shut/" in f"/{path}":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)  # type: ignore[arg-type]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.stat", without_permission)
    monkeypatch.setattr("os.environ", dict(os.environ))  # --data-dir changes it
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "Permission denied" in err and "accepted: a place that you may read and write" in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["cite"], 141), (["status", "/nowhere"], 2), (["rum"], 2)],
)
def test_a_reader_that_has_ended_is_no_success(arguments: list[str], code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "flows.cli", *arguments]
    try:
        assert subprocess.run(command, stdout=writing, stderr=writing).returncode == code
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)
    assert ended.returncode == code
    assert ended.stderr.count("\n") == (code == 2)


def test_names_to_retry_may_have_blanks_around_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_study = Mock(return_value=0)
    monkeypatch.setattr("flows.commands.run.run_study", run_study)
    store = str(tmp_path / "store")
    assert main(["run", "smoke", "--store", store, "--retry", "failed, diverged"]) == 0
    assert run_study.call_args.kwargs["retry"] == {"failed", "diverged"}
    assert main(["run", "smoke", "--store", store]) == 0
    assert run_study.call_args.kwargs["retry"] == set()


@pytest.mark.slow
def test_a_failed_model_is_listed_and_trained_again_with_retry(spec: Path, tmp_path: Path) -> None:
    broken = write_spec(tmp_path / "broken.yaml", methods={"beta_vae": [1e300]}, seeds=1)
    timeline = tmp_path / "timeline.json"
    options = ["--store", tmp_path / "store", "--workers", 1, "--timeline", timeline]
    done = tolstoy("run", broken, *options)
    assert done.returncode == 1
    assert any(
        name.startswith("training ") for of in check_timeline(timeline).values() for name, _ in of
    )
    assert "diverged: " in done.stdout
    assert "--retry diverged\n" in done.stdout
    assert (tmp_path / "store" / "report" / "index.html").exists()
    again = tolstoy("run", broken, "--store", tmp_path / "store")
    assert again.returncode == 1
    assert "nothing to train" in again.stderr
    retried = tolstoy("run", broken, "--store", tmp_path / "store", "--retry", "diverged")
    assert "1 model will be tried again" in retried.stderr
    assert retried.returncode == 1


def test_presets_are_listed_in_the_documentation() -> None:
    page = (README.parent / "docs" / "studies.md").read_text(encoding="utf-8")
    for preset in PRESETS.glob("*.yaml"):
        assert f"`{preset.stem}`" in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", ["study.json: found []; accepted: a mapping, as tolstoy run wrote it"]),
        ("{", ["study.json: found no JSON; accepted: what tolstoy run wrote"]),
        ('{"name": 3}', ["study.json, ", "as tolstoy run wrote it"]),
    ],
)
def test_a_damaged_study_file_is_named_once(
    content: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.json").write_text(content)
    assert main(["status", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert all(word in err for word in words), err
    assert (err.count("found"), err.count("accepted"), err.count("\n")) == (1, 1, 1)
