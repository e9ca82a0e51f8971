"""Game records in SGF, the Smart Game Format."""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.game import State
from zerogames.identity import format_identity, parse_options, split_identity
from zerogames_go import _native
from zerogames_go.options import GoOptions, KoRule, RulesName, named_rules, native_rules

_RULES: dict[str, RulesName] = {
    "tromp-taylor": "tromp-taylor",
    "tromp taylor": "tromp-taylor",
    "tt": "tromp-taylor",
    "chinese": "chinese",
    "cn": "chinese",
    "japanese": "japanese",
    "jp": "japanese",
    "korean": "japanese",
    "kr": "japanese",
    "aga": "aga",
    "new zealand": "new-zealand",
    "new-zealand": "new-zealand",
    "nz": "new-zealand",
}
_RULES_TEXT: dict[RulesName, str] = {
    "tromp-taylor": "Tromp-Taylor",
    "chinese": "Chinese",
    "japanese": "Japanese",
    "aga": "AGA",
    "new-zealand": "NZ",
}
_SPELLED_RULES = re.compile(r"ko(POSITIONAL|SITUATIONAL|SIMPLE)score[A-Z]+tax[A-Z]+sui([01])")
_KO_TEXTS: dict[str, KoRule] = {
    "POSITIONAL": "positional",
    "SITUATIONAL": "situational",
    "SIMPLE": "simple",
}
_REASONS = {"r": "resignation", "t": "time", "f": "forfeit"}
_DRAWS = ("0", "draw", "jigo")
# Encodings in which a bracket or a backslash may be the second byte of a letter.
_MULTI_BYTE = frozenset({"gbk", "gb18030", "big5", "big5hkscs", "cp950", "shift_jis", "cp932"})
_OWN_TAGS = frozenset({"GM", "FF", "CA", "SZ", "KM", "RU", "RE", "HA"})


def read_sgf(
    data: bytes,
    *,
    options: GoOptions | None = None,
    all_lines: bool = False,
    on_error: Callable[[UserError], None] | None = None,
) -> Iterator[GameRecord]:
    """Read the games of a file, one record per tree (its main line) or per line of play.

    Size, komi and rules are the file's; what it does not say is taken from `options`. A broken
    game raises `UserError` that tells which and why; with `on_error` it is handed there and
    skipped.
    """
    data = _as_bytes_of_ascii(data)
    reader = _native.SgfReader(data, all_lines=all_lines)
    if options is None:
        options = GoOptions()
    while True:
        try:
            game = reader.next()
            if game is None:
                break
            record = _read_game(game, options)
        except UserError as error:
            named = UserError(f"game {reader.tree} (byte {reader.offset}): {error}")
            if on_error is None:
                raise named from None
            on_error(named)
            continue
        yield record
    if reader.tree == 0:
        empty = UserError("there is no SGF game in this data; a game begins with (;")
        if on_error is None:
            raise empty
        on_error(empty)


@dataclass(frozen=True)
class SgfHeader:
    """The properties of a game's root."""

    options: GoOptions
    tags: dict[str, str] = field(default_factory=dict)
    """Properties of the root that are neither stones nor moves."""


def read_first_game(data: bytes, options: GoOptions) -> tuple[SgfHeader, _native.SgfGame]:
    """The first game of a file as it is written: moves may be out of turn or illegal.

    Size, komi and rules are the file's; what it does not say is taken from `options`.
    """
    game = _native.SgfReader(_as_bytes_of_ascii(data)).next()
    if game is None:
        raise UserError("there is no SGF game in this data; a game begins with (;")
    texts = _texts(game)
    found = _file_options(game.size, texts.get("KM", ""), texts.get("RU", ""), options)
    return SgfHeader(found, texts), game


def _texts(game: _native.SgfGame) -> dict[str, str]:
    tags = game.tags
    codec = _codec(tags.get("CA", b""))
    return {name: _decode(value, codec) for name, value in tags.items()}


def _read_game(game: _native.SgfGame, options: GoOptions) -> GameRecord:
    codec = _codec(game.tags.get("CA", b""))
    texts = _texts(game)
    identity, rules = _rules(game.size, texts.get("KM", ""), texts.get("RU", ""), options)
    start, actions, end = game.replay(rules)
    result, reason = _parse_result(texts.get("RE", ""), end)
    return GameRecord(
        game=identity,
        start="" if game.starts_empty else str(start),
        actions=actions,
        result=result,
        reason=reason,
        tags=texts,
        comments={ply: _decode(text, codec) for ply, text in game.comments.items()},
    )


@lru_cache(maxsize=256)
def _rules(size: int, komi: str, rules: str, options: GoOptions) -> tuple[str, _native.Rules]:
    """The identity and rules of a game with these texts."""
    found = _file_options(size, komi, rules, options)
    return format_identity("go", found), native_rules(found)


def _file_options(size: int, komi: str, rules: str, options: GoOptions) -> GoOptions:
    komi = komi.strip().replace(",", ".")
    try:
        points = float(komi) if komi else options.komi
    except ValueError:
        points = float("nan")
    if not abs(points) <= 1000:
        raise UserError(f"KM[{komi[:20]}] is not a komi")
    name, ko, suicide = options.rules, options.ko, options.suicide
    spelled = _SPELLED_RULES.search(rules)
    if spelled:
        name, ko, suicide = named_rules(_KO_TEXTS[spelled[1]], spelled[2] == "1")
    elif rules.strip().lower() in _RULES:
        name, ko, suicide = _RULES[rules.strip().lower()], None, None
    return GoOptions(
        size=size,
        komi=points,
        rules=name,
        ko=ko,
        suicide=suicide,
        max_plies=options.max_plies if size == options.size else 0,
    )


def _parse_result(text: str, end: State) -> tuple[float | None, str]:
    """The result in Black's view, and why."""
    text = text.strip().lower()
    if text in _DRAWS:
        return 0.0, end.end_reason or "score"
    if text[:2] in ("b+", "w+"):
        reason = _REASONS.get(text[2:3], end.end_reason or ("score" if text[2:] else ""))
        return (1.0 if text[0] == "b" else -1.0), reason
    return None, end.end_reason


@lru_cache(maxsize=64)
def _codec(name: bytes) -> str | None:
    try:
        codec = codecs.lookup(name.decode("ascii").strip())
        "".encode(codec.name)  # some codecs are not for text
        return codec.name
    except (LookupError, UnicodeError, ValueError):
        return None


def _decode(text: bytes, codec: str | None) -> str:
    """Lenient: the file's encoding if it says one, else UTF-8 where valid, else Latin-1."""
    if codec is not None:
        return text.decode(codec, errors="replace")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _as_bytes_of_ascii(data: bytes) -> bytes:
    """Turn encodings in which a bracket byte need not be a bracket into UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _as_utf8(data.decode("utf-16", errors="replace"))
    declared = re.search(rb"CA\s*\[([^\]]{1,40})\]", data[:4096])
    codec = _codec(declared[1]) if declared else None
    if codec is not None and codec in _MULTI_BYTE:
        return _as_utf8(data.decode(codec, errors="replace"))
    return data


def _as_utf8(text: str) -> bytes:
    return re.sub(r"CA\s*\[[^\]]*\]", "CA[UTF-8]", text).encode("utf-8", errors="replace")


def write_sgf(record: GameRecord) -> str:
    """Write one game as an SGF tree, ten moves a line."""
    options = _options(record.game)
    start = _native.Go(options.size, native_rules(options), handicap=options.handicap)
    setup = record.start or (str(start) if options.handicap else "")
    tags = {**record.tags, "RE": _result_text(record, options)}
    tags["HA"] = str(options.handicap) if options.handicap else ""
    white_first = bool(setup) and _native.Go.from_sgf(setup, options.size).to_play == 1
    return write_tree(
        SgfHeader(options, tags),
        setup=setup,
        moves=[
            ((ply + white_first) % 2, action) for ply, action in enumerate(record.actions.tolist())
        ],
        comments=record.comments,
    )


def write_tree(
    header: SgfHeader,
    *,
    moves: Iterable[tuple[int, int]],
    setup: str = "",
    comments: Mapping[int, str] | None = None,
) -> str:
    """Write a tree with one line of play, ten moves a line.

    Args:
        header: Options and further tags, among them the result.
        moves: Colours (0 Black, 1 White) and actions.
        setup: The position before the first move, as `Go.format_state` writes it.
        comments: By ply; -1 is the root.
    """
    options, comments = header.options, comments or {}
    size = options.size
    known = {
        "GM": "1",
        "FF": "4",
        "CA": "UTF-8",
        "SZ": str(size),
        "KM": f"{options.komi:g}",
        "RU": _rules_text(options),
        "HA": header.tags.get("HA", ""),
    }
    known |= {name: text for name, text in header.tags.items() if name not in _OWN_TAGS}
    known["RE"] = header.tags.get("RE", "")
    parts = ["(;", *(f"{name}[{_escape(text)}]" for name, text in known.items() if text)]
    if setup:
        parts.append(setup[setup.index("]", setup.index("KM[")) + 1 : -1])
    if -1 in comments:
        parts.append(f"C[{_escape(comments[-1])}]")
    for ply, (colour, action) in enumerate(moves):
        if ply % 10 == 0:
            parts.append("\n")
        parts.append(f";{'BW'[colour]}[{sgf_point(size, action)}]")
        if ply in comments:
            parts.append(f"C[{_escape(comments[ply])}]")
    return "".join([*parts, ")\n"])


@lru_cache(maxsize=256)
def _options(identity: str) -> GoOptions:
    name, texts = split_identity(identity)
    if name != "go":
        raise UserError(f"a game of '{name}' is not written as SGF here; only go is")
    options = parse_options(name, GoOptions, texts)
    assert isinstance(options, GoOptions)
    return options


def _rules_text(options: GoOptions) -> str:
    if options.ko is None and options.suicide is None:
        return _RULES_TEXT[options.rules]
    ko, suicide = options.rule_set
    return f"ko{ko.upper()}scoreAREAtaxNONEsui{int(suicide)}"


def _result_text(record: GameRecord, options: GoOptions) -> str:
    """The record's own result tag if it agrees with the result, else one made from it."""
    given = record.tags.get("RE", "")
    if record.result is None:
        return given or "?"
    text = given.strip().lower()
    side = "0" if record.result == 0 else "b" if record.result > 0 else "w"
    if given and (text[:2] == f"{side}+" or (side == "0" and text in _DRAWS)):
        return given
    if record.result == 0:
        return "0"
    letter = next((key.upper() for key, why in _REASONS.items() if why == record.reason), "")
    return f"{side.upper()}+{letter}"


def sgf_point(size: int, action: int) -> str:
    """Two letters, column from the left and row from the top; nothing for a pass."""
    if action == size * size:
        return ""
    return chr(ord("a") + action % size) + chr(ord("a") + size - 1 - action // size)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")
