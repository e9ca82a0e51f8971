"""One interface to everything that can judge positions."""

from zerogames.evaluate.evaluator import Capabilities, Evaluation, Evaluator
from zerogames.evaluate.opening import (
    EVALUATOR_KINDS,
    NET_EVALUATORS,
    PRECISIONS,
    check_precision,
    open_evaluator,
)
from zerogames.evaluate.plain import ConstantEvaluator, RandomEvaluator

__all__ = [
    "EVALUATOR_KINDS",
    "NET_EVALUATORS",
    "PRECISIONS",
    "Capabilities",
    "ConstantEvaluator",
    "Evaluation",
    "Evaluator",
    "RandomEvaluator",
    "check_precision",
    "open_evaluator",
]
