"""One interface to everything that evaluates positions."""

from zerogames.evaluate.evaluator import (
    AnalysingEvaluator,
    Capabilities,
    Evaluator,
    OverlappingEvaluator,
)
from zerogames.evaluate.opening import (
    EVALUATOR_KINDS,
    NET_EVALUATORS,
    PRECISIONS,
    check_precision,
    open_evaluator,
)
from zerogames.evaluate.plain import ConstantEvaluator, RandomEvaluator
from zerogames.evaluate.position import StateEvaluation, evaluate_states
from zerogames.nets.evaluation import Evaluation

__all__ = [
    "EVALUATOR_KINDS",
    "NET_EVALUATORS",
    "PRECISIONS",
    "AnalysingEvaluator",
    "Capabilities",
    "ConstantEvaluator",
    "Evaluation",
    "Evaluator",
    "OverlappingEvaluator",
    "RandomEvaluator",
    "StateEvaluation",
    "check_precision",
    "evaluate_states",
    "open_evaluator",
]
