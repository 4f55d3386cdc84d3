"""What Prefect is told of a study's run."""

from __future__ import annotations

import json

from flows.study import study_flow
from infra.drivers.lock import DriverLock
from infra.store import Store
from tasks.study.reading import parse_study


def test_a_key_in_a_stores_uri_is_not_told_to_prefect() -> None:
    store = Store("s3://KEY:SECRET@bucket/x?scheme=http&endpoint_override=127.0.0.1:1")
    assert "SECRET" in store.uri
    study = parse_study({"name": "n", "data": ["dsprites"], "methods": {"beta_vae": [1]}})
    given = {"study": study, "store": store, "holder": DriverLock(store, 1.0, print)}
    told = json.dumps(study_flow.serialize_parameters(given))
    assert "dsprites" in told
    assert "KEY" not in told and "SECRET" not in told
