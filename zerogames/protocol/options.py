"""Options as the protocol knows them: announced with their range, checked when set."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from zerogames.errors import UserError, unknown_name

OptionValue = int | bool | str


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option."""

    name: str
    kind: Literal["spin", "check", "string", "combo", "button"]
    default: OptionValue = ""
    low: int = 0
    high: int = 0
    """Range of a spin."""
    choices: tuple[str, ...] = ()
    """The choices of a combo."""

    def announcement(self, *, spaces: bool = True) -> str:
        """The line that announces it; with `spaces` false none stands in its name."""
        name = self.name if spaces else self.name.replace(" ", "_")
        words = ["option name", name, "type", self.kind]
        if self.kind == "check":
            words += ["default", "true" if self.default else "false"]
        elif self.kind != "button":
            words += ["default", str(self.default) or "<empty>"]
        if self.kind == "spin":
            words += ["min", str(self.low), "max", str(self.high)]
        for choice in self.choices:
            words += ["var", choice]
        return " ".join(words)

    def parse(self, text: str) -> OptionValue:
        """Read a value; `UserError` says what would be right."""
        if self.kind == "spin":
            number = parse_integer(text)
            if number is None or not self.low <= number <= self.high:
                raise UserError(
                    f"option {self.name}: '{text[:40]}' is not a whole number "
                    f"from {self.low} to {self.high}"
                )
            return number
        if self.kind == "check":
            if text.lower() not in ("true", "false"):
                raise UserError(f"option {self.name}: write true or false, not '{text[:40]}'")
            return text.lower() == "true"
        if self.kind == "combo":
            found = {choice.lower(): choice for choice in self.choices}
            if text.lower() not in found:
                raise unknown_name(f"value of option {self.name}", text[:40], self.choices)
            return found[text.lower()]
        return "" if text == "<empty>" else text


class OptionTable:
    """The options of a session by name, in whatever spelling a user interface prefers."""

    def __init__(self, options: Iterable[Option], aliases: Mapping[str, str] | None = None) -> None:
        """Options under their names; `aliases` are further names of some."""
        self._options = {_plain(option.name): option for option in options}
        self._aliases = {_plain(name): _plain(known) for name, known in (aliases or {}).items()}

    def announcements(self, *, spaces: bool = True) -> list[str]:
        """The lines that announce the options."""
        return [option.announcement(spaces=spaces) for option in self._options.values()]

    def read(self, text: str) -> tuple[Option, OptionValue]:
        """Read what stands behind `setoption`: `name NAME [value VALUE]`."""
        words = text.split(" ")
        if words[0] != "name" or len(words) < 2:
            raise UserError("setoption: write `setoption name NAME value VALUE`")
        end = words.index("value") if "value" in words else len(words)
        name, value = " ".join(words[1:end]).strip(), " ".join(words[end + 1 :]).strip()
        plain = _plain(name)
        option = self._options.get(self._aliases.get(plain, plain))
        if option is None:
            names = [option.name for option in self._options.values()]
            raise unknown_name("option", name[:60], names)
        return option, option.parse(value)


def parse_integer(text: str) -> int | None:
    """A whole number of sane length, else None; beyond 10^15 is cut to it."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 30:
        return None
    return min(max(int(text), -(10**15)), 10**15)


def _plain(name: str) -> str:
    """`Move Overhead`, `MoveOverhead` and `move_overhead` are one option."""
    return name.replace(" ", "").replace("_", "").lower()
