"""Are the study's numbers comparable with the papers' numbers?"""

from __future__ import annotations

from tasks.report.comparable import COMPARABLE_STEPS, PAPERS_STEPS, enough_steps
from tasks.report.published import METHODS, SEEDS, STRENGTHS
from tasks.report.questions import Answer, Question, Sentence, missing
from tasks.report.results import Results
from tasks.words import plural

QUESTION = Question("Beside the papers", menu="Beside the papers", needs_factors=True)


def answer(results: Results) -> Answer:
    study = results.study
    steps = plural(study.training.steps, "training step")
    if not enough_steps(study):
        return missing(
            f"This is a small study: {steps}, where the papers train for {PAPERS_STEPS:,}. Its "
            "numbers are not comparable with the papers' numbers, so none are shown here. From "
            f"{COMPARABLE_STEPS:,} steps on they do."
        )
    text = (
        f"The papers train {METHODS} methods at {STRENGTHS} strengths with {SEEDS} seeds for "
        f"{PAPERS_STEPS:,} steps. This study: {plural(len(study.methods), 'method')}, "
        f"{plural(len(study.seed_list), 'seed')}, {plural(study.training.steps, 'step')}, "
        f"architecture “{study.architecture}”. A smaller grid has less to explain, so read "
        "differences with it in mind. Look-alike data and your own are left out."
    )
    return Answer((Sentence(text),))
