"""What a person sees of a training run: while it learns, and afterwards."""

from rich.console import Console
from rich.table import Table

from zerogames.runs.display import Frame, clock, sparkline
from zerogames.runs.folder import RunPaths
from zerogames_selfplay.loop.status import Status
from zerogames_selfplay.players.display import results_text


def rating_text(status: Status) -> str:
    """The newest rating with its interval."""
    if not status.ratings:
        return "not rated yet"
    _, elo, low, high = status.ratings[-1]
    return f"{elo:+.0f} Elo ({low:+.0f} to {high:+.0f})"


def training_frame(status: Status) -> Frame:
    """The present state."""
    title = f"{status.phase}: {status.reason}" if status.reason else status.phase
    return Frame(done=status.progress, title=title, rows=_rows(status))


def _rows(status: Status) -> list[tuple[str, ...]]:
    learner, metrics, counts = status.learner, status.metrics, status.selfplay
    played = f"{status.positions_per_s:,.0f} positions/s, {counts.games:,} games"
    rows: list[tuple[str, ...]] = [
        ("time", clock(status.elapsed_s), "net", status.playing),
        ("self-play", played, "results", results_text(counts)),
    ]
    if learner is not None:
        made = f"generation {learner.generation}, step {learner.step:,}"
        window = f"{learner.window:,} of {learner.positions:,} positions"
        rows.append(("learner", made, "window", window))
    if metrics:
        accuracy = f"policy {100 * metrics['policy_accuracy']:.1f}%"
        error = f"value MSE {metrics['value_mse']:.3f}"
        loss = (
            f"{metrics['loss']:.3f} = policy {metrics['policy_loss']:.3f} + value "
            f"{metrics['value_loss']:.3f}"
        )
        rows.append(("loss", loss, "", sparkline(status.losses)))
        rows.append(("accuracy", f"{accuracy}, {error}", "rate", f"{metrics['learning_rate']:.2e}"))
    curve = sparkline([elo for _, elo, _, _ in status.ratings])
    rows.append(("rating", rating_text(status), "", curve))
    if status.workers:
        rows.append(("workers", status.workers))
    if status.restarts:
        rows.append(("restarts", f"{status.restarts}"))
    return rows


def generation_line(status: Status) -> str:
    """One line for a generation, for logs."""
    learner, metrics = status.learner, status.metrics
    assert learner is not None
    rating = f", {rating_text(status)}" if status.ratings else ""
    return (
        f"{clock(status.elapsed_s)} generation {learner.generation}: step {learner.step:,}, "
        f"{learner.positions:,} positions ({status.positions_per_s:,.0f}/s), "
        f"window {learner.window:,}, loss {metrics['loss']:.3f} "
        f"(policy {metrics['policy_loss']:.3f}, value {metrics['value_loss']:.3f}), "
        f"accuracy {100 * metrics['policy_accuracy']:.1f}%, "
        f"value MSE {metrics['value_mse']:.3f}{rating}"
    )


def print_train_summary(console: Console, status: Status, paths: RunPaths) -> None:
    """Print one screen at the end."""
    learner = status.learner
    assert learner is not None
    table = Table(show_header=False, title=f"training of {status.game}", title_style="bold")
    table.add_row("net", f"{status.net}, playing: {status.playing}")
    table.add_row("time", clock(status.elapsed_s))
    table.add_row("generations", f"{learner.generation:,}")
    table.add_row("steps", f"{learner.step:,} ({learner.samples:,} samples)")
    table.add_row("games", f"{learner.games:,} ({learner.positions:,} positions)")
    if status.metrics:
        metrics = status.metrics
        table.add_row(
            "loss",
            f"{metrics['loss']:.3f} (policy {metrics['policy_loss']:.3f}, value "
            f"{metrics['value_loss']:.3f})",
        )
        table.add_row("policy accuracy", f"{100 * metrics['policy_accuracy']:.1f}%")
    table.add_row("rating", rating_text(status))
    if learner.set_aside:
        table.add_row("set aside", f"{learner.set_aside} damaged shards in {paths.path}")
    console.print(table)
