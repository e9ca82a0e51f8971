"""Rules by the names and the JSON form of KataGo and KGS."""

import json
from typing import Any

from zerogames.errors import UserError, unknown_name
from zerogames_go.options import GoOptions, KoRule, RulesName, named_rules

_NAMES: dict[str, tuple[RulesName, KoRule | None]] = {
    "tromp-taylor": ("tromp-taylor", None),
    "chinese": ("chinese", "simple"),
    "chinese-ogs": ("chinese", None),
    "chinese-kgs": ("chinese", None),
    "japanese": ("japanese", None),
    "korean": ("japanese", None),
    "aga": ("aga", None),
    "bga": ("aga", None),
    "new-zealand": ("new-zealand", None),
}
_KO: dict[str, KoRule] = {
    "POSITIONAL": "positional",
    "SITUATIONAL": "situational",
    "SIMPLE": "simple",
}
_FIXED: dict[str, object] = {
    "scoring": "AREA",
    "tax": "NONE",
    "hasButton": False,
    "whiteHandicapBonus": "0",
}
"""What cannot be changed here."""

RuleOptions = dict[str, Any]
"""The fields `rules`, `ko` and `suicide` of `GoOptions`."""


def rules_to_json(options: GoOptions) -> str:
    """The answer to `kata-get-rules`."""
    ko, suicide = options.rule_set
    return json.dumps({"ko": ko.upper(), "suicide": suicide, **_FIXED}, separators=(",", ":"))


def parse_kgs_rules(text: str) -> RuleOptions:
    """`chinese`, `aga`, `japanese` or `new_zealand`."""
    name = text.lower().replace("_", "-")
    return parse_rules("chinese-kgs" if name == "chinese" else name)


def parse_rules(text: str) -> RuleOptions:
    """A name or a JSON object."""
    text = text.strip()
    if not text.startswith("{"):
        name = text.lower().replace("_", "-").replace(" ", "-")
        if name not in _NAMES:
            raise unknown_name("rules", text[:40], _NAMES)
        rules, ko = _NAMES[name]
        return {"rules": rules, "ko": ko, "suicide": None}
    try:
        given = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise UserError("these rules are no JSON object") from None
    rules_given: dict[str, object] = {"ko": "POSITIONAL", "suicide": True}
    for key, value in given.items():
        rules_given |= _checked(key, value)
    return _options(rules_given)


def with_rule(options: GoOptions, key: str, value: str) -> RuleOptions:
    """One rule changed, the others kept."""
    ko, suicide = options.rule_set
    parsed: object = value
    if value.lower() in ("true", "false"):
        parsed = value.lower() == "true"
    return _options({"ko": ko.upper(), "suicide": suicide} | _checked(key, parsed))


def _checked(key: str, value: object) -> dict[str, object]:
    """A rule that can be had; those that say what is so anyway are passed over."""
    if key == "friendlyPassOk":
        return {}
    if key in _FIXED:
        if value != _FIXED[key]:
            raise UserError(f"{key} is {json.dumps(_FIXED[key])} here, nothing else")
        return {}
    if key == "ko" and isinstance(value, str) and value.upper() in _KO:
        return {"ko": value.upper()}
    if key == "suicide" and isinstance(value, bool):
        return {"suicide": value}
    if key in ("ko", "suicide"):
        raise UserError(f"{key} cannot be {str(value)[:40]!r}")
    raise unknown_name("rule", str(key)[:40], [*_FIXED, "ko", "suicide"])


def _options(rules: dict[str, object]) -> RuleOptions:
    name, ko, suicide = named_rules(_KO[str(rules["ko"])], bool(rules["suicide"]))
    return {"rules": name, "ko": ko, "suicide": suicide}
