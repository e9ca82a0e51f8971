"""The layout of a net of KataGo, and the name that is its text.

    katago<version>_<channels>x<window of the stem>_<blocks>_<end of the trunk>,<policy>,<value>

A part is a letter, its sizes with dots between them, the letters of its activations (`r` ReLU, `m`
mish, `s` SiLU, `i` none), and in brackets the blocks inside. A letter alone is the same part as the
one before with this letter. Example: `katago8_96x5_o96.3.3rr,o,g64.32.3.3.3rrr,o_t0r,...`.

    o  ordinary block     inner channels, two windows
    g  with global pools  channels, pooled channels, windows of both and of the last convolution
    n  nested bottleneck  inner channels, two windows
    a  attention          heads, heads of keys and values, sizes of a query and of a value, rotation
                          (0 none, 1 fixed, 2 learnt)
    f  feed-forward       hidden units
    t  end of the trunk   norm (0 batch, 1 RMS, 2 RMS over the whole board)
    p  policy             channels, pooled channels, outputs, hidden units of the pass (0: none)
    v  value              channels, hidden units
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets.names import apply_options
from zerogames.nets.spec import MAX_PARAMETERS, NetSpec, Stage

PREFIX = "katago"
ENCODING = "katago-v7"
VERSIONS = range(8, 18)
FUNCTIONS = {"r": "relu", "m": "mish", "s": "swish", "i": "none"}
"""The letters of activations, and their names in programs."""
MAX_DEPTH = 4
"""Of nested blocks."""
_LARGEST = 8192
_NUMBERS = {"o": 3, "g": 5, "n": 3, "a": 5, "f": 1, "t": 1, "p": 4, "v": 2}
_ACTIVATIONS = {"o": {2}, "g": {3}, "n": {2}, "a": {0}, "f": {0}, "t": {1}, "p": {2, 3}, "v": {2}}
_PART = re.compile(r"([a-z])(?:(\d{1,5}(?:\.\d{1,5})*)([rmsi]*))?", re.ASCII)
_FORM = "katago<version>_<channels>x<window>_<blocks>_<ends>; such names come from KataGo's files"


@dataclass(frozen=True)
class Part:
    """A block, or an end of the net."""

    kind: str
    """A letter, see above."""
    sizes: tuple[int, ...]
    functions: str = ""
    """The letters of its activations in the order of the file."""
    inner: "tuple[Part, ...]" = ()

    def __str__(self) -> str:
        """The whole text."""
        inside = f"({_join(self.inner)})" if self.kind == "n" else ""
        return f"{self.kind}{'.'.join(map(str, self.sizes))}{self.functions}{inside}"

    def numbers(self, channels: int) -> int:
        """About as many weights as it has, on a stream of `channels`."""
        sizes = self.sizes
        if self.kind == "o":
            return channels * sizes[0] * (sizes[1] ** 2 + sizes[2] ** 2)
        if self.kind == "g":
            first = sizes[0] * sizes[2] ** 2 + sizes[1] * sizes[3] ** 2
            return channels * (first + sizes[0] * sizes[4] ** 2) + 3 * sizes[0] * sizes[1]
        if self.kind == "n":
            ends = channels * sizes[0] * (sizes[1] ** 2 + sizes[2] ** 2)
            return ends + sum(part.numbers(sizes[0]) for part in self.inner)
        if self.kind == "a":
            heads, keys, query, value, _ = sizes
            return channels * (heads + keys) * (query + value)
        return 3 * channels * sizes[0]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Everything about a net but its weights."""

    version: int
    channels: int
    window: int
    """Rows of the stem's convolution."""
    blocks: tuple[Part, ...]
    tip: Part
    """The end of the trunk."""
    policy: Part
    value: Part

    @property
    def name(self) -> str:
        """The name of such nets."""
        head = f"{PREFIX}{self.version}_{self.channels}x{self.window}"
        return f"{head}_{_join(self.blocks)}_{_join((self.tip, self.policy, self.value))}"

    @property
    def scores(self) -> int:
        """The numbers of the value head's score layer."""
        return 4 if self.version == 8 else 6


def is_katago_name(name: str) -> bool:
    """Return whether the name belongs to this family, well formed or not."""
    return name.strip().startswith(PREFIX)


def parse_layout(name: str) -> Layout:
    """Read a name without options; raise `UserError` that names the wrong part."""
    found = re.fullmatch(r"katago(\d{1,2})_(\d{1,5})x(\d{1,2})_([^_]*)_([^_]*)", name, re.ASCII)
    if found is None or int(found[1]) not in VERSIONS:
        raise UserError(f"'{name:.60}' is not the name of a net of KataGo; write {_FORM}")
    blocks, ends = _Reader(found[4]).whole(), _Reader(found[5]).whole()
    if [end.kind for end in ends] != ["t", "p", "v"] or any(b.kind in "tpv" for b in blocks):
        raise UserError(f"'{name:.60}' has parts at the wrong place; write {_FORM}")
    layout = Layout(
        version=int(found[1]),
        channels=int(found[2]),
        window=int(found[3]),
        blocks=blocks,
        tip=ends[0],
        policy=ends[1],
        value=ends[2],
    )
    check_layout(layout)
    return layout


def check_layout(layout: Layout) -> None:
    """Raise `UserError` for sizes no net has."""
    channels = layout.channels
    if not 1 <= channels <= _LARGEST or layout.window % 2 == 0 or layout.window > 9:
        raise UserError(f"a stem of {channels} channels and window {layout.window} is none")
    total = sum(block.numbers(channels) for block in layout.blocks)
    if total > MAX_PARAMETERS:
        raise UserError(f"the net would have more than {MAX_PARAMETERS:,} parameters")


def parse_katago_name(name: str, game: Game) -> NetSpec:
    """Read a name; an encoding with its options may follow behind `+`."""
    trunk, *options = name.strip().split("+")
    layout = parse_layout(trunk)
    if any(option.partition(":")[0] != ENCODING for option in options):
        raise UserError(f"net '{trunk:.60}': only +{ENCODING} with its options may follow")
    spec = NetSpec(
        name=name.strip(),
        game=game.spec.identity,
        encoding=ENCODING,
        family=PREFIX,
        layout=trunk,
        stages=(Stage(block=PREFIX, blocks=len(layout.blocks), channels=layout.channels),),
        policy=PREFIX,
        value="wdl",
        value_head="gap",
        ends=("ownership", "score"),
        l2=1e-5,
    )
    return apply_options(spec, options, game)


class _Reader:
    """Reads a list of parts."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._last: dict[str, Part] = {}

    def whole(self) -> tuple[Part, ...]:
        parts = self._parts(0) if self._text else ()
        if self._at < len(self._text):
            raise self._wrong()
        return parts

    def _parts(self, depth: int) -> tuple[Part, ...]:
        if depth > MAX_DEPTH:
            raise UserError("a net's blocks are nested too deep")
        parts = [self._part(depth)]
        while self._take(","):
            parts.append(self._part(depth))
        return tuple(parts)

    def _part(self, depth: int) -> Part:
        found = _PART.match(self._text, self._at)
        if found is None or found[1] not in _NUMBERS:
            raise self._wrong()
        self._at, kind = found.end(), found[1]
        if found[2] is None:
            if kind not in self._last:
                raise self._wrong()
            return self._last[kind]
        part = Part(kind, tuple(map(int, found[2].split("."))), found[3])
        if kind == "n":
            if not self._take("("):
                raise self._wrong()
            inner = () if self._text.startswith(")", self._at) else self._parts(depth + 1)
            part = replace(part, inner=inner)
            if not self._take(")"):
                raise self._wrong()
        if len(part.sizes) != _NUMBERS[kind] or len(part.functions) not in _ACTIVATIONS[kind]:
            raise self._wrong()
        check_part(part)
        self._last[kind] = part
        return part

    def _take(self, mark: str) -> bool:
        found = self._text.startswith(mark, self._at)
        self._at += found
        return found

    def _wrong(self) -> UserError:
        rest = self._text[self._at :]
        return UserError(f"'{rest:.30}' is no part of a net of KataGo; write {_FORM}")


def check_part(part: Part) -> None:
    """Raise `UserError` for sizes that no such part has."""
    kind, sizes = part.kind, part.sizes
    may_be_zero = {"a": {4}, "t": {0}, "p": {3}}.get(kind, set[int]())
    windows = {"o": (1, 2), "n": (1, 2), "g": (2, 3, 4)}.get(kind, ())
    wrong = any(
        not (size > 0 or place in may_be_zero) or size > _LARGEST
        for place, size in enumerate(sizes)
    )
    wrong = wrong or any(sizes[place] % 2 == 0 or sizes[place] > 9 for place in windows)
    if kind == "a":
        heads, keys, query, _, rotation = sizes
        wrong = wrong or heads % keys != 0 or rotation > 2 or (rotation > 0 and query % 2 > 0)
        wrong = wrong or (rotation == 1 and query % 4 > 0)
    if kind == "p":
        wrong = wrong or (len(part.functions) == 3) != (sizes[3] > 0)
    if wrong or (kind == "t" and sizes[0] > 2):
        raise UserError(f"a part '{part!s:.40}' of a net of KataGo has impossible sizes")


def _join(parts: tuple[Part, ...]) -> str:
    """Parts with commas; one that equals the last of its kind is its letter."""
    return ",".join(_texts(parts, {}))


def _texts(parts: tuple[Part, ...], last: dict[str, Part]) -> Iterator[str]:
    for part in parts:
        if last.get(part.kind) == part:
            yield part.kind
            continue
        head = str(replace(part, inner=())).removesuffix("()")
        inside = f"({','.join(_texts(part.inner, last))})" if part.kind == "n" else ""
        last[part.kind] = part
        yield head + inside
