"""Notebook runs: parameters checked first, results as data, outputs that repeat byte for byte, and their verification.

In a notebook: `stamp` shows where its numbers come from, `record` and `record_table` state its results. Outside:
`run` executes notebooks into a folder, `verify` repeats committed ones, `runs_frame` reads many runs.
"""

from memlab.runs.compare import Difference
from memlab.runs.execute import NotebookRun, RunResult, run
from memlab.runs.frames import read_results, runs_frame
from memlab.runs.normalise import normalise
from memlab.runs.parameters import Parameter, check_parameters, load_parameter_file, parameters_of
from memlab.runs.progress import Step
from memlab.runs.provenance import Provenance, stamp
from memlab.runs.record import record, record_table, results_of, tables_of
from memlab.runs.schema import Result, Table
from memlab.runs.verify import Checked, Verification, verify

__all__ = [
    "Checked",
    "Difference",
    "NotebookRun",
    "Parameter",
    "Provenance",
    "Result",
    "RunResult",
    "Step",
    "Table",
    "Verification",
    "check_parameters",
    "load_parameter_file",
    "normalise",
    "parameters_of",
    "read_results",
    "record",
    "record_table",
    "results_of",
    "run",
    "runs_frame",
    "stamp",
    "tables_of",
    "verify",
]
