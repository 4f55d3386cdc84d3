"""YAML as a spec may have it: plain values and each key once; errors in plain words."""

from __future__ import annotations

import re
from typing import Any

import yaml

from infra.errors import WrongInput

READABLE = "readable YAML"
# What PyYAML says, what was found in our words, and what is accepted. The first that fits counts.
IN_WORDS = (
    (r"the key (.*) twice", r"the key \1 twice", "each key once"),
    (r".*constructor for the tag '(.*)'", r"the tag \1", "text, numbers, lists and mappings"),
    (r".*found another document", "a second document (---)", "one document"),
    (r"mapping values are not.*", "a ':' that cannot be here", "quotes around a text with ': '"),
    (r"found character '\\t'.*", "a tab", "spaces in front of a line"),
    (r"found character (.*) that.*", r"\1 at the start of a value", "quotes around such a text"),
    (r"found unhashable key", "a list or a mapping as a key", "text as a key"),
    (r"(month|day|hour|minute|second) .*", "a date that does not exist", "quotes around a text"),
    (r"expected (.*?),? but (?:found|got) ('.')", r"the sign \2", r"\1"),
    (r"expected (.*?),? but (?:found|got) (.*)", r"\2", r"\1"),
    (r"found (.*)", r"\1", READABLE),
    (r"maximum recursion depth.*", "lists or mappings too deep in each other", "fewer levels"),
)
TERMS = {
    "tag:yaml.org,2002:": "!!",
    "'<stream end>'": "the end of the file",
    "unexpected end of stream": "the end of the file within quotes",
    "'<scalar>'": "a value",
    "'<anchor>'": "an anchor (&)",
    "'?'": "a key",
    "<block end>": "lines indented as those above",
    "the node content": "a value",
}


class PlainLoader(yaml.SafeLoader):
    """YAML without its habit of taking the last of equal keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in known:
                    raise yaml.constructor.ConstructorError(
                        problem=f"the key {key.value} twice", problem_mark=key.start_mark
                    )
                known.add(key.value)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str, field: str, accepted: str = "") -> Any:
    """The content of a text; an error names the field, and the line of a longer text."""
    try:
        return yaml.load(text, PlainLoader)
    except (AttributeError, KeyError, TypeError):  # PyYAML's, such as at `!!bool x`
        place, found, usual = field, "a value that does not fit its tag (!!)", READABLE
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{field}, line {mark.line + 1}" if mark and not accepted else field
        found, usual = _in_words(str(getattr(error, "problem", None) or error))
    raise WrongInput(place, text if accepted else found, accepted or usual)


def _in_words(problem: str) -> tuple[str, str]:
    problem = " ".join(problem.split())
    for pattern, found, accepted in IN_WORDS:
        if match := re.fullmatch(pattern, problem):
            return _in_our_terms(match.expand(found)), _in_our_terms(match.expand(accepted))
    return problem, READABLE


def _in_our_terms(text: str) -> str:
    for term, ours in TERMS.items():
        text = text.replace(term, ours)
    return text
