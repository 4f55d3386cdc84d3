"""Object stores: access keys in URIs, limits to how long they are tried, their errors."""

from __future__ import annotations

import re
from typing import Any

import pyarrow.fs as pafs

from infra.errors import WrongInput

ACCEPTED = "a bucket that exists, an endpoint that answers, a key that may do this"
ATTEMPTS, CONNECT_SECONDS, ANSWER_SECONDS = 3, 5, 15
# Errors of a store that is out of reach or overloaded; NO_SUCH_UPLOAD: it finished a write whose
# answer was lost, and was asked to finish it again.
AWAY = re.compile(
    "AWS Error (NETWORK_CONNECTION|SERVICE_UNAVAILABLE|SLOW_DOWN|THROTTLING|INTERNAL_FAILURE"
    "|REQUEST_TIMEOUT|NO_SUCH_UPLOAD"
    r"|[A-Z_]+ \(HTTP status (429|5\d\d)\))"  # an answer without a body names no other error
)
KEY = re.compile(r"://[^/@\s]*(:[^@\s]*)?@")  # secrets may have slashes in them


def without_key(text: str) -> str:
    """A URI, or a text with URIs, without access keys."""
    return KEY.sub("://", text)


def with_time_limits(fs: Any) -> Any:
    """The same file system; if it is S3, with time limits, which a URI cannot contain.

    Without limits, pyarrow tries an endpoint that does not answer for minutes.
    """
    if not isinstance(fs, pafs.S3FileSystem):
        return fs
    # pyarrow parses the URI and has no function that returns the options (endpoint, region, keys)
    # that it read there. What it pickles contains them.
    _, (options,) = fs.__reduce__()
    return pafs.S3FileSystem(
        **{
            **options,
            "connect_timeout": CONNECT_SECONDS,
            "request_timeout": ANSWER_SECONDS,
            "retry_strategy": pafs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        }
    )


def is_away(error: OSError) -> bool:
    return bool(AWAY.search(str(error)))


def reason_of(error: OSError) -> str:
    """The end of an object store's message: the kind of error and its text."""
    text = " ".join(str(error).split())
    return text[text.find("AWS Error") :] if "AWS Error" in text else text


def refusal(error: OSError) -> WrongInput | None:
    """The message about an error of an object store; None for other errors."""
    return WrongInput("store", reason_of(error), ACCEPTED) if "AWS Error" in str(error) else None
