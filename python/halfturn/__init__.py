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
from halfturn._learned import Profile, profile
from halfturn._policy import Policy, curve
from halfturn._reproduce import Reproduced, reproduce, targets
from halfturn._requests import Requests
from halfturn._results import Results, Run
from halfturn._run import simulate, sweep
from halfturn._sweep import SweepResults
from halfturn._trace import Trace

__version__ = VERSION
__all__ = [
    "COMMIT",
    "Advice",
    "BadInputError",
    "Drive",
    "Experiment",
    "Policy",
    "Profile",
    "Reproduced",
    "Requests",
    "Results",
    "Run",
    "SweepResults",
    "Trace",
    "Value",
    "Waiting",
    "__version__",
    "advise",
    "curve",
    "profile",
    "reproduce",
    "simulate",
    "sweep",
    "targets",
]
