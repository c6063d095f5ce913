"""Hard-disk I/O that can be preempted, predicted and scheduled: the simulator of Halfturn.

    import halfturn

    results = halfturn.simulate("examples/first-look.toml", scheduler={"policy": ["fcfs", "satf"]})
    results.to_pandas()

Experiments, keys and figures are those of the command line, and so are the bytes of `Results.json` and the words of errors.
"""

from halfturn._advice import Advice, advise
from halfturn._experiment import Experiment, Value
from halfturn._halfturn import COMMIT, VERSION, BadInputError, Waiting
from halfturn._drive import Drive
from halfturn._policy import Policy, curve
from halfturn._requests import Requests
from halfturn._results import Results, Run
from halfturn._run import simulate, sweep
from halfturn._sweep import SweepResults

__version__ = VERSION
__all__ = [
    "COMMIT",
    "Advice",
    "BadInputError",
    "Drive",
    "Experiment",
    "Policy",
    "Requests",
    "Results",
    "Run",
    "SweepResults",
    "Value",
    "Waiting",
    "__version__",
    "advise",
    "curve",
    "simulate",
    "sweep",
]
