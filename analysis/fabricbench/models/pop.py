# SPDX-License-Identifier: Apache-2.0
"""The parallel efficiencies of the POP Centre of Excellence, from the parts of a run time."""

from dataclasses import dataclass

from fabricbench.models.parts import RunParts


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """The efficiencies of one launch, 0 to 1.

    Definition, with U the computation of a rank, T the time of the slowest rank, and T_id the run time on a network
    without latency and with infinite bandwidth:

    - ``load_balance`` LB = avg U / max U
    - ``communication_efficiency`` CommE = max U / T
    - ``parallel_efficiency`` PE = LB CommE = avg U / T
    - ``serialisation_efficiency`` SerE = max U / T_id
    - ``transfer_efficiency``: T_id over T; CommE is the product of the last two

    T_id is between the largest U + waiting and the largest U + waiting + undivided. So the last two are intervals (low,
    high), whose ends are equal if all waiting is measured. Additive form: 1 - PE = ``imbalance_loss`` +
    ``serialisation_loss`` + ``transfer_loss``, with T_id in the middle of its interval.
    Source: POP Centre of Excellence, Standard Metrics for Performance Analysis (co-design.pop-coe.eu); Rosas, Gimenez,
    Labarta 2014; additive form as in pyPOP.
    """

    load_balance: float
    communication_efficiency: float
    parallel_efficiency: float
    serialisation_efficiency: tuple[float, float]
    transfer_efficiency: tuple[float, float]
    imbalance_loss: float
    serialisation_loss: float
    transfer_loss: float


def efficiencies(run: RunParts) -> Efficiencies | None:
    """Returns the efficiencies of a launch; None if its ranks have no time or no computation."""
    computations = [rank.computation for rank in run.ranks]
    time, most = run.time, max(computations)
    if time <= 0 or most <= 0:
        return None
    average = sum(computations) / len(computations)
    low, high = _ideal_times(run)
    middle = (low + high) / 2
    return Efficiencies(
        load_balance=average / most,
        communication_efficiency=most / time,
        parallel_efficiency=average / time,
        serialisation_efficiency=(most / high, most / low),
        transfer_efficiency=(low / time, high / time),
        imbalance_loss=(most - average) / time,
        serialisation_loss=(middle - most) / time,
        transfer_loss=(time - middle) / time,
    )


def _ideal_times(run: RunParts) -> tuple[float, float]:
    """Returns the limits of T_id in seconds, at most T."""
    parts = [rank.parts for rank in run.ranks]
    low = max(one.computation + one.waiting for one in parts)
    high = max(one.computation + one.waiting + one.undivided for one in parts)
    return min(low, run.time), min(high, run.time)
