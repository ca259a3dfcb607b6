# SPDX-License-Identifier: Apache-2.0
"""The share of communication that follows from a shorter run time."""


def communication_share(run_time_cut: float, communication_cut: float) -> float:
    """Returns the share of communication in a run time, from two relative reductions between 0 and 1.

    Definition: T = U + C. If C falls by the share c, and T therefore by the share r, then r T = c C, so C / T = r / c.
    It is a lower limit if ``communication_cut`` is the largest of several and ``run_time_cut`` belongs to one of them.
    Assumption: the computation U takes as long before and after.
    Raises ValueError if a reduction is outside 0 to 1, or if the run time falls by more than the communication.
    Source: Amdahl 1967, AFIPS 30.
    """
    if not (0 <= run_time_cut <= 1 and 0 < communication_cut <= 1):
        raise ValueError("reductions are shares between 0 and 1, that of the communication above 0")
    if run_time_cut > communication_cut:
        raise ValueError("the run time fell by a larger share than the communication: the computation changed too")
    return run_time_cut / communication_cut
