"""Why a choice without labels may mean little: models that are little alike or learned nothing."""

from __future__ import annotations

from models import METHODS, STUDY_2019
from tasks.report.comparable import PAPERS_STEPS
from tasks.report.published import LOW_UDR
from tasks.study.axes import method_of
from tasks.study.spec import Study
from tasks.what_was_read import doubts
from tasks.words import UDR, number, plural, ranking_name

FEW_STEPS = 10_000  # the preset mini, of 15,000, is the shortest whose numbers say something
LITTLE_KL = 1.0  # nats: such codes tell at most exp(1), so fewer than three, pictures apart


def low_text(value: float, similarity: str) -> str:
    """What to add to a UDR that is low; of other rankings nobody has said what is low."""
    is_low = ranking_name(similarity) == UDR and value < LOW_UDR
    return f", low: below {LOW_UDR:g} in Duan et al. 2020" if is_low else ""


def doubts_about_training(study: Study, data: str, method: str, kl: float | None) -> list[str]:
    """Of a model with this KL, in nats; None of a method without a posterior."""
    steps, name = study.training.steps, method_of(method)
    has_steps = name not in METHODS or METHODS[name].has_steps
    reasons = []
    if kl is not None and kl < LITTLE_KL:
        reasons.append(f"its KL of {number(kl, 2)} nats is near 0: it has learned next to nothing")
    if has_steps and steps < FEW_STEPS:
        papers = f" (the papers: {PAPERS_STEPS:,})" if name in STUDY_2019 else ""
        reasons.append(f"only {plural(steps, 'training step')}{papers}")
    for choice in study.data:
        if choice.name == data and choice.read:
            reasons += doubts(choice.read.pictures, "picture")
    return reasons
