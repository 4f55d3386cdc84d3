"""Steps to learn clustering: how much experience agents need that see sprites by their codes.

Agents learn to move coloured sprites by clicks until those of similar hues are together. They know
what an action does to codes, and learn which scenes are rewarded. The score is the mean over agents
of the rewarded steps after which nine of ten new scenes succeed. An agent whose budget ends first
counts with the budget, which makes the score a restricted mean: less is better, and the budget
itself says that no agent learned the task.

Paper: Watters et al. 2019, "COBRA: data-efficient model-based RL through unsupervised object
discovery and curiosity-driven exploration"; as a task for representations Duan et al. 2020,
appendix A.8, and Holtz et al. 2022, section 4. Family: task. Property: data efficiency.

Conventions:
- Only for models of the data set `scene`, which shows one sprite of the agents' world alone.
- A reduction of the papers' agent: the list of sprites is given and each is encoded alone, where
  the papers find the sprites with MONet. So nothing is said about finding objects.
- Agents of a model differ in the weights with which they begin, in their scenes and in their
  clicks; all of them have the same transition model, whose unrewarded steps do not count.
"""

import numpy as np
from numpy.typing import ArrayLike

from metrics.base.arrays import BadArray, numbers
from metrics.base.inputs import Inputs, Score

NEEDS = frozenset({"agents"})
PARTS = {
    "steps agent N": "rewarded steps of an agent that learned the task; none of one that did not",
    "learned": "share of agents that learned the task",
    "success": "share of scenes that succeed in each agent's last test, mean over agents",
    "success other hues": "the same with sprites in colours of other hues than those of learning",
    "budget": "rewarded steps at the most",
}


def clustering(steps: ArrayLike, budget: float) -> float:
    """The mean over agents of their steps (agents,), of which nan counts as the budget."""
    taken = np.asarray(steps, np.float64)
    if taken.ndim != 1 or not len(taken):
        raise BadArray("steps", f"shape {taken.shape}", "(agents,)")
    known = numbers("steps", np.where(np.isnan(taken), budget, taken), ("agent",))
    if known.min() < 0 or known.max() > budget:
        raise BadArray("steps", str(known), f"numbers from 0 to {budget:g}, or nan")
    return float(known.mean())


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Lets agents learn the task: this takes minutes."""
    if inputs.learn_clustering is None:
        raise ValueError("inputs: learn_clustering is None; models of scene are accepted")
    learned = inputs.learn_clustering(rng)
    has_learned = np.isfinite(learned.steps)
    return [
        Score("score", clustering(learned.steps, learned.budget)),
        *(
            Score(f"steps agent {agent}", float(learned.steps[agent]))
            for agent in np.flatnonzero(has_learned)
        ),
        Score("learned", float(has_learned.mean())),
        Score("success", float(learned.success.mean())),
        Score("success other hues", float(learned.other_hues.mean())),
        Score("budget", float(learned.budget)),
    ]
