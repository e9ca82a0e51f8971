"""The display of a pretraining."""

from collections.abc import Mapping

from zerogames.runs.display import Frame, clock


def training_frame(done: float, waiting_share: float, line: Mapping[str, float]) -> Frame:
    """What the display shows.

    Args:
        done: Share of the run that is over.
        waiting_share: Share of this session's time in which the net waited for data.
        line: The newest line of metrics; empty before the first.
    """
    waiting = f"{waiting_share:.0%} waiting for data"
    if not line:
        return Frame(done=done, title=waiting)
    rate = f"{line['train_samples_per_s']:,.0f} positions/s"
    return Frame(
        done=done,
        title=f"{rate}, {waiting}",
        line=f"{clock(line['time_s'])} step {line['step']:,}: loss {line['loss']:.3f}, accuracy "
        f"{line['policy_accuracy']:.2%}, value MSE {line['value_mse']:.3f}, {rate}, "
        f"{line['waiting_share']:.0%} waiting for data",
    )


def validation_line(step: int, figures: Mapping[str, float]) -> str:
    """The metrics of a validation as one line."""
    phases = ", ".join(
        f"{name.partition('/')[0]} {value:.1%}"
        for name, value in figures.items()
        if name.endswith("/policy_accuracy")
    )
    return (
        f"step {step:,}: validation accuracy {figures['policy_accuracy']:.2%}"
        f"{f' ({phases})' if phases else ''}, value MSE {figures['value_mse']:.4f} "
        f"(/4: {figures['value_mse_quarter']:.4f}), policy loss {figures['policy_loss']:.3f}"
    )
