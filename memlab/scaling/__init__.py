"""Beyond one machine: the same learning over many workers, its rate limits, and a model of what it costs at any size."""

from memlab.scaling.costs import Costs, Simulated, bend, curve, simulate
from memlab.scaling.distributed import learn_on, local_client
from memlab.scaling.pacing import Paced

__all__ = ["Costs", "Paced", "Simulated", "bend", "curve", "learn_on", "local_client", "simulate"]
