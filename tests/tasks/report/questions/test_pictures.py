"""Which models are pictured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tasks.report.questions.pictures import MOST_GROUPS, choose
from tasks.report.results import Column


def test_with_many_data_sets_and_methods_there_is_a_pair_per_data_set() -> None:
    udr = Column("lasso", "UDR", "method")
    wide = pd.DataFrame(
        {
            "data": np.repeat([f"d{i}" for i in range(5)], 6),
            "source": "redrawn",
            "method": 5 * ["a", "a", "b", "b", "c", "c"],
            "model_id": [f"{i:02}" for i in range(30)],
            udr.id: np.tile([0.1, 0.2, 0.6, 0.4, 0.3, np.nan], 5),
        }
    )
    assert wide[["data", "method"]].drop_duplicates().shape[0] > MOST_GROUPS
    choices = choose(wide, udr)
    assert [choice.method for choice in choices] == 5 * [None]
    assert choices[1].models == (("best", "08"), ("worst", "06"))
    fewer = choose(wide[wide["data"] == "d0"], udr)
    assert [choice.method for choice in fewer] == ["a", "b", "c"]
    assert fewer[2].models == (("only", "04"),)
