"""The `tolstoy` command: its options, and the exit code of what went wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from flows.commands.text import spell_out
from flows.endings import PIPE_CLOSED, drop_output, ended
from flows.options import DATA_HELP, DataDir, Json, WholeNumber, use_folder
from infra.errors import WrongInput, one_of
from infra.runtime import check_workers, fast_products, quieten

Spec = Annotated[str, Parameter(help="a preset's name, or a YAML file")]
Overrides = Annotated[
    tuple[str, ...], Parameter(name="--set", help="key=value that changes the spec", negative="")
]
StorePlace = Annotated[str | None, Parameter(help="folder or URI of the results [studies/NAME]")]
RayAddress = Annotated[str | None, Parameter(help="address of a Ray cluster to run on")]


def _version() -> str:
    from importlib.metadata import version

    return version("tolstoy")


app = App(
    name="tolstoy",
    help="Studies of disentangled representations: train, score, rank without labels, report.",
    help_format="plaintext",  # markdown takes a fifth longer; so paragraphs have lines of 78
    help_epilogue="First steps: tolstoy run smoke; tolstoy plan mini; tolstoy status STORE",
    version=_version,
    default_parameter=Parameter(negative=""),
    suppress_keyboard_interrupt=False,
)


app.command("flows.commands.data:data_app", name="data", help=DATA_HELP)
app.register_install_completion_command(
    help="Let this shell complete commands and options with Tab.", group="Shell"
)


@app.command
def plan(
    spec: Spec,
    /,
    *,
    set_: Overrides = (),
    store: StorePlace = None,
    cores: Annotated[
        WholeNumber | None, Parameter(help="how long on so many cores? [this machine's]")
    ] = None,
    gpus: Annotated[
        WholeNumber | None, Parameter(help="and on so many GPUs, one for each model [0]")
    ] = None,
    ray: Annotated[
        str | None, Parameter(help="how long on this Ray cluster, as it is now?")
    ] = None,
    calibrate: Annotated[bool, Parameter(help="measure this machine again")] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> int:
    """Print what a study would do: models, what is done and left, core-hours, days, disk space.

    The first plan of a kind measures this machine for half a minute; later ones are quick.

    Example: tolstoy plan locatello-2019 --set seeds=5 --cores 256
    """
    from flows.commands.plan import plan as print_plan

    use_folder(data_dir)
    return print_plan(
        spec, set_, store, cores=cores, gpus=gpus, ray=ray, calibrate=calibrate, json=json
    )


@app.command
def run(
    spec: Spec,
    /,
    *,
    set_: Overrides = (),
    store: StorePlace = None,
    workers: Annotated[
        WholeNumber | None, Parameter(help="models at once on this machine [cores]")
    ] = None,
    ray: RayAddress = None,
    retry: Annotated[
        str | None,
        Parameter(
            help="train again the models that: failed, diverged, or failed,diverged; damaged: "
            "those whose results cannot be read"
        ),
    ] = None,
    join: Annotated[bool, Parameter(help="work together with the run that has the store")] = False,
    timeline: Annotated[
        Path | None, Parameter(help=".json file to write: what ran where, for chrome://tracing")
    ] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> int:
    """Train, score, compare and report what of a study is not done; run it again to continue.

    Example: tolstoy run smoke --store /tmp/smoke
    """
    from infra.timeline import recorded_to, span

    check_workers(workers)
    with recorded_to(timeline):
        with span("imports"):
            from flows.commands.run import run_study
            from tasks.study.model import CAN_RETRY, DAMAGED
            from tasks.study.reading import read_study

        statuses = _names(retry) if retry is not None else ()
        accepted = (*CAN_RETRY, DAMAGED)
        for status in statuses:
            if status not in accepted:
                raise WrongInput("--retry", status, one_of(accepted, status))
        use_folder(data_dir)
        study = read_study(spec, set_)
        return run_study(
            study,
            f"studies/{study.name}" if store is None else store,
            workers=workers,
            ray=ray,
            retry=set(statuses),
            join=join,
            json=json,
        )


@app.command
def status(
    store: str,
    /,
    *,
    watch: Annotated[bool, Parameter(help="repeat until the study is done, or Ctrl-C")] = False,
    every: Annotated[float | None, Parameter(help="seconds between two readings [5]")] = None,
    json: Json = False,
) -> int:
    """Print what of a study is done, failed, diverged and left, per cell; reads only the store.

    Example: tolstoy status studies/smoke --watch
    """
    from flows.commands.status import status as print_status
    from infra.store import Store

    return print_status(Store(store), watch=watch, every=every, json=json)


@app.command
def report(
    store: str,
    /,
    *,
    with_: Annotated[
        tuple[str, ...], Parameter(name="--with", help="also a page that needs no study: theorem")
    ] = (),
    watch: Annotated[bool, Parameter(help="renew it until the study is done, or Ctrl-C")] = False,
    every: Annotated[float | None, Parameter(help="seconds between two looks [30]")] = None,
) -> int:
    """Write the report of a store again and print its path; with --watch while a study runs.

    Example: tolstoy report studies/smoke --watch; tolstoy report studies/smoke --with theorem
    """
    from flows.commands.report import report as write_report

    return write_report(store, with_, watch=watch, every=every)


@app.command
def show(
    model_id: Annotated[str, Parameter(help="a model's id, or the first characters of it")],
    /,
    *,
    store: Annotated[
        str | None, Parameter(help="folder or URI of the results [all in studies/]")
    ] = None,
    out: Annotated[str | None, Parameter(help="folder for the pictures [shown/MODEL_ID]")] = None,
    gif: Annotated[bool, Parameter(help="also write an animated traversal")] = False,
    json: Json = False,
) -> int:
    """Print the row, scores and ranks of a model; write its traversal and reconstructions.

    Example: tolstoy show 3f2a --gif
    """
    from flows.commands.show import show_model

    return show_model(model_id, store, out, gif, json)


@app.command
def score(
    file: Annotated[
        Path | None,
        Parameter(
            help=".npz or .h5: codes, factors, factor_names; .parquet, .csv or .tsv: codes_0, "
            "codes_1 ..., factor_NAME"
        ),
    ] = None,
    /,
    *,
    metrics: Annotated[str | None, Parameter(help="names, separated by commas [all]")] = None,
    seed: Annotated[WholeNumber, Parameter(help="of the metrics' random draws")] = 0,
    repeat: Annotated[
        WholeNumber, Parameter(help="number of seeds, for mean and standard deviation")
    ] = 1,
    bins: Annotated[
        WholeNumber, Parameter(help="for continuous factors, where classes are needed")
    ] = 10,
    points: Annotated[
        WholeNumber | None, Parameter(help="score so many points, drawn at random [all]")
    ] = None,
    out: Annotated[Path | None, Parameter(help=".parquet table to write")] = None,
    plot: Annotated[Path | None, Parameter(help="picture of factor × latent matrices")] = None,
    parts: Annotated[bool, Parameter(help="also print what the scores consist of")] = False,
    explain: Annotated[
        tuple[str, ...] | None,
        Parameter(consume_multiple=True, help="say what these metrics are, without FILE [all]"),
    ] = None,
    json: Json = False,
) -> int:
    """Score your own representation: two arrays, codes (points, latents) and factors (points,
    factors), or a table with a column for each latent and factor.

    In a table, codes are columns codes_0, codes_1 ... (or z0, z1 ...), or a
    column codes of lists; factors are columns factor_NAME, or a column factors
    of lists. Without such names all columns but codes are factors if rows share
    their values.

    The first two thirds of the rows train, the rest test. An .npz or .h5 file may
    also have validation_codes and validation_factors, rows on which dci_lasso and
    dci_forest choose their penalty and depth, and zero_shot_codes and
    zero_shot_factors, rows whose error they report.

    Example: tolstoy score codes.npz --metrics mig,sap; tolstoy score --explain sap
    """
    from flows.commands.score import score_file
    from metrics import METRICS

    if explain is not None:
        from flows.commands.explain import explain_metrics

        if file is not None:
            raise WrongInput("FILE", str(file), "nothing, as --explain needs no file")
        of_scores = {
            "--metrics": metrics is not None,
            "--seed": seed != 0,
            "--repeat": repeat != 1,
            "--bins": bins != 10,
            "--points": points is not None,
            "--out": out is not None,
            "--plot": plot is not None,
            "--parts": parts,
        }
        if given := [option for option, is_given in of_scores.items() if is_given]:
            accepted = "names of metrics and --json, as nothing is scored"
            raise WrongInput("--explain", given[0], accepted)
        return explain_metrics(_names(",".join(explain)) if explain else tuple(METRICS), json=json)
    if file is None:
        raise WrongInput("FILE", "nothing", "a file with codes and factors; or --explain")
    of_all_data = tuple(name for name, facts in METRICS.items() if not facts.data)
    names = of_all_data if metrics is None else _names(metrics)
    return score_file(
        file,
        names,
        seed=seed,
        repeat=repeat,
        bins=bins,
        points=points,
        out=out,
        plot=plot,
        parts=parts,
        json=json,
    )


def _names(text: str) -> tuple[str, ...]:
    """Names that are separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


@app.command
def rank(
    place: Annotated[
        str,
        Parameter(help="a store; or an .npz or .h5 file: codes, kl, names; or: traces, groups"),
    ],
    /,
    *more: Annotated[str, Parameter(help="with --by dynamics: further files with traces")],
    by: Annotated[
        str, Parameter(help="udr; or dynamics, of a store's cells or of groups in files")
    ] = "udr",
    set_: Annotated[
        tuple[str, ...],
        Parameter(name="--set", help="with --by dynamics: t=20 and others (docs/ranking.md)"),
    ] = (),
    pool: Annotated[
        str | None,
        Parameter(
            help="compare models of the same: cell, method, data [strengths by cell, models by "
            "method]"
        ),
    ] = None,
    similarity: Annotated[
        str | None,
        Parameter(help="lasso, lasso_cv, spearman, centrality, cka, cca [the study's, or lasso]"),
    ] = None,
    p: Annotated[
        WholeNumber | None, Parameter(help="comparisons per model, 0 for all [the study's, or all]")
    ] = None,
    top: Annotated[WholeNumber, Parameter(help="lines of the table; --json prints all")] = 20,
    per_informative: Annotated[
        bool, Parameter(help="also the best model for each number of informative latents")
    ] = False,
    data: Annotated[str | None, Parameter(help="one data set of the study [all]")] = None,
    ray: RayAddress = None,
    plot: Annotated[
        Path | None,
        Parameter(
            help="picture of the ranking, its best and worst model; of dynamics, scores of cells"
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Rank models without labels (UDR): which strength, which model? Also while a study runs.

    Pairs that are missing are compared first. In a file with codes (models,
    points, latents), all models are compared with each other.

    With --by dynamics, cells of a study with traces are ranked by how alike their
    models learn; or groups in a file with traces (models, snapshots, samples,
    units) and groups (models).

    Example: tolstoy rank studies/smoke; tolstoy rank models.npz --similarity
    spearman; tolstoy rank traces.npz --by dynamics
    """
    if by == "dynamics":
        from flows.commands.rank_dynamics import rank_dynamics

        udr_options = {
            "--pool": pool,
            "--similarity": similarity,
            "--p": p,
            "--per-informative": per_informative,
            "--ray": ray,
        }
        return rank_dynamics(
            (place, *more), set_, udr_options, data=data, plot=plot, top=top, json=json
        )
    fast_products()
    from flows.commands.rank import rank as rank_place
    from flows.ranking import RankRequest

    if by != "udr":
        raise WrongInput("--by", by, one_of(("udr", "dynamics"), by))
    if set_:
        raise WrongInput("--set", set_[0], "nothing, without --by dynamics")
    if more:
        raise WrongInput("rank", f"{1 + len(more)} places", "one; several with --by dynamics")
    request = RankRequest(pool=pool, similarity=similarity, p=p, data=data, plot=plot)
    return rank_place(place, request, ray, top, json, per_informative)


@app.command
def export(
    store: Annotated[str, Parameter(help="folder or URI of a study")],
    /,
    *,
    to: Annotated[Path, Parameter(help=".parquet or .csv file to write")],
) -> int:
    """Write a study as one table for other tools: a row per model, a column per number.

    Example: tolstoy export studies/smoke --to smoke.parquet
    """
    from flows.commands.export import export_study

    return export_study(store, to)


@app.command
def cite(
    *what: Annotated[str, Parameter(help="a store; names of methods, metrics, data sets [all]")],
    json: Json = False,
) -> int:
    """Print BibTeX of exactly what a study used, or of what is named, and why it is cited.

    Example: tolstoy cite studies/smoke; tolstoy cite factor_vae dci shapes3d
    """
    from flows.commands.cite import cite as print_references

    return print_references(what, json)


@app.command
def doctor(
    *,
    store: Annotated[
        str | None, Parameter(help="folder or URI of a study to check as well")
    ] = None,
    deep: Annotated[
        bool,
        Parameter(help="also run one task, and read every byte of the store's tables and weights"),
    ] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> int:
    """Say what stands in the way of a run; the exit code is 1 if something does.

    Example: tolstoy doctor --store studies/smoke
    """
    from flows.commands.doctor import examine

    return examine(store, deep, use_folder(data_dir), json)


@app.command
def serve(
    *,
    port: Annotated[
        WholeNumber, Parameter(help="of the dashboard; reports are on port + 1")
    ] = 4200,
    host: Annotated[str, Parameter(help="address to listen on")] = "127.0.0.1",
    studies: Annotated[str, Parameter(help="folder or URI that holds the stores")] = "studies",
    ray: RayAddress = None,
    workers: Annotated[
        WholeNumber | None, Parameter(help="models at once on this machine, at most [cores]")
    ] = None,
    cron: Annotated[
        str | None,
        Parameter(help="times of a schedule, in UTC or TZ's zone; off until switched on"),
    ] = None,
    preset: Annotated[str, Parameter(help="the preset that the schedule runs")] = "smoke",
    allow_data: Annotated[
        str | None, Parameter(help="folder whose pictures people may use in the form [none]")
    ] = None,
    reports: Annotated[
        str | None, Parameter(help="address at which browsers find the reports [port + 1]")
    ] = None,
    allow_host: Annotated[
        tuple[str, ...], Parameter(help="another name of this server, as a proxy sends it")
    ] = (),
    keep_days: Annotated[
        WholeNumber | None,
        Parameter(help="remove runs from Prefect's database so long after their end [never]"),
    ] = None,
    data_dir: DataDir = None,
) -> int:
    """Serve a dashboard from which studies are started, watched and cancelled, until Ctrl-C.

    Starts a Prefect server of its own unless PREFECT_API_URL names one.

    Example: tolstoy serve --port 4300 --cron "0 2 * * *" --preset mini
    """
    from flows.commands.serve import ServeOptions
    from flows.commands.serve import serve as serve_until_stopped
    from flows.dashboard.limits import Limits
    from infra.new_file import with_home

    use_folder(data_dir)
    studies = with_home("--studies", studies)
    if allow_data is not None:
        allow_data = with_home("--allow-data", allow_data)
    limits = Limits(studies=studies, ray=ray, workers=workers, allow_data=allow_data)
    options = ServeOptions(
        host=host,
        port=port,
        limits=limits,
        cron=cron,
        preset=preset,
        reports=reports,
        allow_host=allow_host,
        keep_days=keep_days,
    )
    return serve_until_stopped(options)


@app.command
def bench(
    name: str,
    /,
    *,
    size: Annotated[WholeNumber | None, Parameter(help="a smaller or larger problem")] = None,
    experiment: Annotated[str | None, Parameter(help="with metrics: the experiment to run")] = None,
    mode: Annotated[
        str | None,
        Parameter(name="--as", help="with metrics: whose settings, review or study [review]"),
    ] = None,
    repeats: Annotated[
        WholeNumber | None, Parameter(help="with metrics: for mean and deviation [5]")
    ] = None,
    plot: Annotated[Path | None, Parameter(help="with metrics: picture of the curves")] = None,
    json: Json = False,
) -> int:
    """Measure Tolstoy against a baseline, or run a controlled experiment on the metrics.

    Example: tolstoy bench orchestration --size 1200; tolstoy bench metrics --experiment noise
    """
    from flows.commands.bench import bench as run_benchmark

    return run_benchmark(
        name,
        size=size,
        experiment=experiment,
        mode=mode,
        repeats=repeats,
        plot=plot,
        json=json,
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    quieten()
    spell_out()
    try:
        code: Any = app(
            arguments,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        if sys.stdout:
            sys.stdout.flush()
    except CycloptsError as error:
        from flows.commands.usage import as_wrong_input

        return ended(2, " ".join(str(as_wrong_input(error) or error).split()))
    except WrongInput as error:
        return ended(2, " ".join(str(error).split()))
    except KeyboardInterrupt:
        return ended(130, "interrupted")
    except BrokenPipeError:  # the reader, for example `head`, has ended
        drop_output()
        return PIPE_CLOSED
    except Exception as error:
        from infra.files import refusal

        if (message := refusal(error)) is None:
            raise
        return ended(2, str(message))
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
