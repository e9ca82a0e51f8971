"""Presets: the papers' settings for each of their nets, how files are found, what errors say."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from zerogames import presets
from zerogames.cli import main
from zerogames.command_line import Command, read_arguments
from zerogames.commands.pretrain import COMMAND as PRETRAIN
from zerogames.commands.tournament import COMMAND as TOURNAMENT
from zerogames.errors import UserError
from zerogames.presets import Preset, find_preset
from zerogames.pretrain.settings import PretrainSettings, ReadingSettings, ValidationSettings
from zerogames.train import TrainerSettings

FILES = sorted((Path(__file__).resolve().parents[1] / "configs").glob("*/*.toml"))

CG2024 = PretrainSettings(
    steps=100_000,
    reading=ReadingSettings(symmetries=False),
    trainer=TrainerSettings(
        batch_size=1024,
        optimizer="sgd",
        learning_rate=0.02,
        weight_decay=0.0,
        l2=5e-5,
        schedule="steps",
        boundaries=(30_000, 60_000),
        factors=(0.1, 0.25),
        averaging="none",
        search_value_share=1.0,
    ),
)
CG2024_LAPTOP = PretrainSettings(
    steps=4000,
    reading=ReadingSettings(keep=0.1),
    validation=ValidationSettings(every=500, positions=10_000, final_positions=100_000),
    trainer=replace(CG2024.trainer, batch_size=256, clip_norm=5.0, boundaries=(2000, 3200)),
)
MOBILE = PretrainSettings(
    game="go",
    steps=6_250_000,
    validation=ValidationSettings(every=31_250, per_game=1),
    trainer=TrainerSettings(
        batch_size=32,
        optimizer="sgd",
        learning_rate=0.005,
        nesterov=False,
        weight_decay=0.0,
        l2=1e-4,
        schedule="steps",
        warmup_steps=0,
        boundaries=(3_125_000, 4_687_500),
        averaging="none",
    ),
)


def with_trainer(settings: PretrainSettings, **changes: object) -> PretrainSettings:
    trainer = replace(settings.trainer, **changes)  # type: ignore[arg-type]
    return replace(settings, trainer=trainer)


LARGE = with_trainer(CG2024, batch_size=512)
ICGA2025 = with_trainer(CG2024, moves_left_loss="mse")
MOBILE_LAPTOP = replace(
    with_trainer(MOBILE, boundaries=(1500, 2250)),
    steps=3000,
    validation=ValidationSettings(every=500, positions=5000, per_game=1),
)
# What each of the long files gave that these presets replaced.
OLD_FILES = [
    ("cg2024-laptop", "mob_krb_4x48", CG2024_LAPTOP),
    ("cg2024", "mob_5x5_12x192", LARGE),
    ("cg2024", "mob_5x5_12x96", CG2024),
    ("cg2024", "mob_5x5_18x192", LARGE),
    ("cg2024", "mob_5x5_18x96", CG2024),
    ("cg2024", "mob_5x5_6x192", CG2024),
    ("cg2024", "mob_5x5_6x96", CG2024),
    ("cg2024", "mob_krb_12x192", LARGE),
    ("cg2024", "mob_krb_12x96", CG2024),
    ("cg2024", "mob_krb_18x192", LARGE),
    ("cg2024", "mob_krb_18x96", CG2024),
    ("cg2024", "mob_krb_6x192", CG2024),
    ("cg2024", "mob_krb_6x96", CG2024),
    ("icga2025-laptop", "mob_krb_4x48+mlh", with_trainer(CG2024_LAPTOP, moves_left_loss="mse")),
    ("icga2025", "mob_3x3_6x96+mlh", ICGA2025),
    ("icga2025", "mob_5x5_6x96+mlh", ICGA2025),
    ("icga2025", "mob_krb_6x96+mlh", ICGA2025),
    ("icga2025", "mob_rb_6x96+mlh", ICGA2025),
    ("icga2025", "mob_rng_6x96+mlh", ICGA2025),
    ("icga2025", "res_3x3_6x96+mlh", ICGA2025),
    ("icga2025", "res_5x5_6x96+mlh", ICGA2025),
    ("icga2025", "res_krb_6x96+mlh", ICGA2025),
    ("icga2025", "res_rb_6x96+mlh", ICGA2025),
    ("icga2025", "res_rng_6x96+mlh", ICGA2025),
    ("mobile", "a0.small.avg.conv.bin", MOBILE),
    ("mobile", "a0.small.avg", MOBILE),
    ("mobile", "a0.small", MOBILE),
    ("mobile", "mobile.small.conv.avg.bin.val4", MOBILE),
    ("mobile", "mobile.small.conv.avg.bin", MOBILE),
    ("mobile", "mobile.small", MOBILE),
    ("mobile-laptop", "mobile.small.conv.avg.bin.val4+pass", MOBILE_LAPTOP),
]


@pytest.mark.parametrize(("preset", "net", "settings"), OLD_FILES)
def test_a_preset_with_a_net_is_what_the_net_had_a_file_for(
    preset: str, net: str, settings: PretrainSettings
) -> None:
    assert read_arguments(PRETRAIN, ["--preset", preset, "--net", net]) == replace(
        settings, net=net
    )
    if not preset.endswith("-laptop"):
        assert net in find_preset(preset, command="pretrain").nets


def test_the_first_net_is_the_default_and_others_are_allowed() -> None:
    assert read_arguments(PRETRAIN, ["--preset", "cg2024"]) == replace(CG2024, net="mob_krb_6x96")
    other = read_arguments(PRETRAIN, ["--preset", "cg2024", "--net", "mob_rng_2x32"])
    assert other == replace(CG2024, net="mob_rng_2x32")
    changed = read_arguments(
        PRETRAIN,
        [
            "--preset",
            "cg2024",
            "--net=mob_krb_12x192",
            "--trainer.batch-size",
            "8",
            "--minutes",
            "3",
        ],
    )
    assert (changed.trainer.batch_size, changed.steps, changed.minutes) == (8, None, 3)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_file_says_which_command_it_is_for(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("#")
    assert '\ncommand = "' in text


def test_a_preset_is_found_by_name_by_game_and_by_path(tmp_path: Path) -> None:
    assert find_preset("cg2024", command="pretrain").path.parent.name == "chess"
    assert (
        find_preset("train", command="train", game="othello:size=6").path.parent.name == "othello"
    )
    with pytest.raises(UserError, match="chess and othello; say for which with --game"):
        find_preset("train", command="train", game="connect4")
    file = tmp_path / "mine.toml"
    file.write_text('game = "chess"\nsteps = 7\n')
    assert read_arguments(PRETRAIN, ["--preset", str(file)]).steps == 7
    with pytest.raises(UserError, match="no such file"):
        find_preset(str(tmp_path / "none.toml"), command="pretrain")


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (PRETRAIN, ["--preset", "cg20245"], "did you mean 'cg2024'? known: 9x9-laptop, cg2024, "),
        (PRETRAIN, ["--preset", "quick"], "unknown preset of `zerogames pretrain` 'quick'"),
        (PRETRAIN, ["--preset", "cg2024", "--game", "go"], "cg2024 is for chess, not for go"),
        (PRETRAIN, ["--preset"], "--preset needs a value"),
        (TOURNAMENT, ["--preset", "cg2024"], "unknown preset of `zerogames tournament`"),
    ],
)
def test_mistakes_are_one_line(
    command: Command[object], arguments: list[str], message: str
) -> None:
    with pytest.raises(UserError) as error:
        read_arguments(command, arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_option_that_a_command_lacks_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--out", "--game"):
        assert main(["uci", option, "x"]) == 2
        assert option in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('command = "train"', "is a preset of `zerogames train`, not of `zerogames pretrain`"),
        ('nets = "mob_krb_6x96"', "nets: write a list"),
        ('nets = ["a"]\n[[for_nets]]\nsteps = 5', "for_nets.nets: write a list"),
        ('nets = ["a"]\nfor_nets = ["a"]', "[[for_nets]]"),
        ('nets = ["a"]\n[[for_nets]]\nnets = ["a"]\nstep = 5', "did you mean 'steps'"),
        ("steps = [", "mine.toml: "),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        read_arguments(PRETRAIN, ["--preset", str(file)])
    assert message in str(error.value)


def test_the_packaged_copy_serves_where_there_is_no_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "zerogames"
    (package / "configs" / "chess").mkdir(parents=True)
    (package / "configs" / "chess" / "a.toml").write_text('command = "pretrain"\nsteps = 1\n')
    monkeypatch.setattr(presets, "__file__", str(package / "presets.py"))
    assert read_arguments(PRETRAIN, ["--preset", "a"]).steps == 1
    checkout = tmp_path / "configs" / "chess"
    checkout.mkdir(parents=True)
    (checkout / "a.toml").write_text('command = "pretrain"\nsteps = 2\n')
    assert read_arguments(PRETRAIN, ["--preset", "a"]).steps == 2


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["pretrain"], ["--preset NAME", "cg2024-laptop"]),
        (["pretrain", "--preset", "cg2024"], ["mob_5x5_18x192", "(default: 100000)"]),
        (["tournament"], ["--preset NAME", "net-stockfish"]),
        (["train"], ["--preset NAME", "--search.preset NAME", "--simulations INT", "quick"]),
        (["selfplay"], ["--preset NAME", "--search.preset NAME"]),
        (["match"], ["--preset NAME"]),
    ],
)
def test_the_help_names_presets_and_their_nets(
    capsys: pytest.CaptureFixture[str], command: list[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    shown = capsys.readouterr().out
    assert all(word in shown for word in words), shown


def test_every_file_is_valid_for_its_command() -> None:
    from zerogames_chess.nnue.study_settings import StudySettings
    from zerogames_selfplay.commands.selfplay import COMMAND as SELFPLAY
    from zerogames_selfplay.commands.train import COMMAND as TRAIN

    kinds: dict[str, type[object]] = {
        command.name: command.settings for command in (PRETRAIN, TOURNAMENT, SELFPLAY, TRAIN)
    }
    kinds["nnue study"] = StudySettings
    for path in FILES:
        preset = Preset(path)
        found = [name for name in kinds if preset.serves(name)]
        assert len(found) == 1, path
        settings = preset.settings(kinds[found[0]], command=found[0])
        assert str(getattr(settings, "game", "chess")).partition(":")[0] == path.parent.name


def test_documents_name_presets_that_exist() -> None:
    root = FILES[0].parents[2]
    documents = [root / "README.md", *root.glob("docs/**/*.md"), *root.glob("games/**/README.md")]
    named = 0
    for document in documents:
        for command, rest in re.findall(
            r"zerogames ((?:nnue )?[a-z]+) ([^\n`]*)", document.read_text()
        ):
            for name in re.findall(r"--preset ([\w.-]+)", rest):
                if name != "NAME":
                    of = "pretrain" if command == "compare" else command
                    game = re.search(r"--game ([\w:=,]+)", rest)
                    find_preset(name, command=of, game=game[1] if game else None)
                    named += 1
    assert named > 10
