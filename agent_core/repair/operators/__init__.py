"""The operators: kinds of edits, one idea per file; all of them pure."""

from __future__ import annotations

from agent_core.repair.operators import checks, guards, sequences
from agent_core.repair.operators.access import safe_access
from agent_core.repair.operators.arguments import wrong_arguments
from agent_core.repair.operators.arithmetic import arithmetic
from agent_core.repair.operators.base import Operator
from agent_core.repair.operators.boolean import boolean_logic
from agent_core.repair.operators.calls import wrong_calls
from agent_core.repair.operators.compare import comparisons
from agent_core.repair.operators.constants import initial_values, wrong_constants
from agent_core.repair.operators.errors import unknown_names
from agent_core.repair.operators.insertions import missing_statements
from agent_core.repair.operators.missing import elements, missing_operands
from agent_core.repair.operators.mutation import mutation
from agent_core.repair.operators.names import wrong_keys, wrong_names
from agent_core.repair.operators.offbyone import off_by_one
from agent_core.repair.operators.ordering import orderings
from agent_core.repair.operators.returns import missing_else, returns
from agent_core.repair.operators.structure import structure
from agent_core.repair.operators.wrapping import bounded, missing_calls

OPERATORS: tuple[Operator, ...] = (
    unknown_names,
    comparisons,
    off_by_one,
    arithmetic,
    missing_operands,
    boolean_logic,
    wrong_constants,
    initial_values,
    elements,
    wrong_names,
    wrong_keys,
    wrong_calls,
    wrong_arguments,
    orderings,
    missing_calls,
    bounded,
    sequences.slices,
    sequences.recursion,
    returns,
    missing_else,
    guards.early_exits,
    checks.checks_in_conditions,
    checks.checks_in_loops,
    safe_access,
    guards.exceptions,
    mutation,
    structure,
    missing_statements,
)
"""Every operator that the search tries. Where two make the same text, the earlier one's reason is told."""
