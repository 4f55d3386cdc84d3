"""YAML as a spec may have it: plain values and each key once; errors in plain words."""

from __future__ import annotations

import re
from typing import Any

import yaml

from infra.errors import WrongInput

READABLE = "readable YAML"
LONGEST = 2**20  # characters; the largest preset has 2,500
MOST_VALUES = 500_000  # after each *alias is replaced by what it stands for; as models of a study
BITS = 64  # of a whole number
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
    (r"more than .* values.*", r"\g<0>", f"at most {MOST_VALUES:,} values, aliases included"),
    (r"an alias .* within the value of itself", r"\g<0>", "values that end"),
    (r"half a letter .*", r"\g<0>", "whole letters"),
    (r"a whole number of .*", r"\g<0>", f"whole numbers of at most {BITS} bits"),
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
    """YAML without its habit of taking the last of equal keys, and without values that take more
    memory than their text."""

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None:
            _count(node, {})
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Python reads hexadecimal digits without a limit, and then cannot print the number."""
        digits = len(node.value.lstrip("+-0xXbB_"))
        number = super().construct_yaml_int(node) if digits <= 3 * BITS else 2**BITS
        if abs(number) >= 2 ** (BITS - 1):
            raise yaml.constructor.ConstructorError(
                problem=f"a whole number of {digits:,} digits", problem_mark=node.start_mark
            )
        return int(number)

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

    def construct_yaml_str(self, node: yaml.ScalarNode) -> str:
        """An escape such as \\udcff makes half a letter, which no file can hold."""
        text = super().construct_yaml_str(node)
        if re.search(r"[\ud800-\udfff]", text):
            raise yaml.constructor.ConstructorError(
                problem="half a letter (\\ud800 to \\udfff)", problem_mark=node.start_mark
            )
        return str(text)


PlainLoader.add_constructor("tag:yaml.org,2002:int", PlainLoader.construct_yaml_int)
PlainLoader.add_constructor("tag:yaml.org,2002:str", PlainLoader.construct_yaml_str)


def _count(node: yaml.Node, counted: dict[int, int]) -> int:
    """How many values the node stands for; raise if they are too many, or without an end.

    Aliases of aliases grow without limit: ten lines may stand for ten thousand million values.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1
    if (known := counted.get(id(node))) is not None:
        if known == 0:
            problem = "an alias (*) within the value of itself"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
        return known
    counted[id(node)] = 0
    total = 1
    for child in node.value:
        for part in child if isinstance(child, tuple) else (child,):
            total += _count(part, counted)
        if total > MOST_VALUES:
            problem = f"more than {MOST_VALUES:,} values, some of them by aliases (*)"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
    counted[id(node)] = total
    return total


def parse_yaml(text: str, field: str, accepted: str = "") -> Any:
    """The content of a text; an error names the field, and the line of a longer text."""
    if len(text) > LONGEST:
        found = f"more than {LONGEST:,} characters"
        raise WrongInput(field, found, f"at most {LONGEST:,}")
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
