"""Notebook runs: parameters checked first, results as data, outputs that repeat byte for byte, and their verification.

In a notebook: `stamp` shows where its numbers come from, `record` and `record_table` state its results. Outside:
`run` executes notebooks into a folder, `sweep` once for each value, `verify` repeats committed ones, `runs_df` reads
many runs, `compare_runs` and `compare_proposals` put two side by side, case by case.
"""

from memlab.runs.compare import Difference
from memlab.runs.execute import run, sweep
from memlab.runs.frames import read_results, runs_df
from memlab.runs.index import write_index
from memlab.runs.normalise import normalise
from memlab.runs.outcome import NotebookRun, RunResult, Sweep
from memlab.runs.paired import Paired
from memlab.runs.paired_curators import always, compare_curators, curation_cases, curator_table, decide
from memlab.runs.paired_proposals import compare_proposals, cost_of, read_proposals
from memlab.runs.paired_rankings import compare_rankings
from memlab.runs.paired_runs import compare_runs
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
    "Paired",
    "Parameter",
    "Provenance",
    "Result",
    "RunResult",
    "Step",
    "Sweep",
    "Table",
    "Verification",
    "always",
    "check_parameters",
    "compare_curators",
    "compare_proposals",
    "compare_rankings",
    "compare_runs",
    "cost_of",
    "curation_cases",
    "curator_table",
    "decide",
    "load_parameter_file",
    "normalise",
    "parameters_of",
    "read_proposals",
    "read_results",
    "record",
    "record_table",
    "results_of",
    "run",
    "runs_df",
    "stamp",
    "sweep",
    "tables_of",
    "verify",
    "write_index",
]
