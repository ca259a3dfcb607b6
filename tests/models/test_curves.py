# SPDX-License-Identifier: Apache-2.0
"""Curves: interpolation, extrapolation, the nearest number of ranks, and the commands that measure missing ones."""

import pytest

from fabricbench.models.curves import CollectiveCurves, Curve, Curves, curve_of, missing


def test_collectives_of_unknown_communicators_have_the_ranks_of_the_application() -> None:
    two, eight = (CollectiveCurves(*[Curve((0.0,), (seconds,))] * 3) for seconds in (1.0, 2.0))
    curves = Curves(collectives={("barrier", 2): two, ("barrier", 8): eight}, ranks=8)
    assert curves.collective("barrier", None) is eight
    assert curves.collective("barrier", 3) is two
    assert curves.measured_ranks("bcast", 2) is None


def test_linear_between_measured_sizes_and_flat_below_the_smallest() -> None:
    curve = Curve((8.0, 16.0, 64.0), (1.0, 2.0, 5.0))
    assert [curve.at(size) for size in (0, 8, 12, 16, 40, 64)] == pytest.approx([1.0, 1.0, 1.5, 2.0, 3.5, 5.0])
    assert curve.smallest == 1.0


def test_beyond_the_largest_size_the_slope_of_the_last_segment_holds() -> None:
    curve = Curve((0.0, 100.0, 200.0), (1.0, 1.0, 3.0))
    assert curve.at(300) == pytest.approx(5.0)
    assert curve.extrapolates(201)
    assert not curve.extrapolates(200)


def test_a_falling_last_segment_is_continued_flat() -> None:
    assert Curve((0.0, 100.0), (2.0, 1.0)).at(500) == 1.0


def test_a_single_size_gives_a_constant() -> None:
    assert Curve((8.0,), (3.0,)).at(1e9) == 3.0


def test_points_are_sorted_and_no_point_is_no_curve() -> None:
    assert curve_of({64: 2.0, 8: 1.0}) == Curve((8.0, 64.0), (1.0, 2.0))
    assert curve_of({}) is None


@pytest.mark.parametrize(
    ("sizes", "seconds"), [((), ()), ((1.0, 1.0), (1.0, 2.0)), ((2.0, 1.0), (1.0, 2.0)), ((1.0,), ())]
)
def test_invalid_points_are_refused(sizes: tuple[float, ...], seconds: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="increasing order"):
        Curve(sizes, seconds)


def test_a_collective_is_taken_at_the_nearest_number_of_ranks() -> None:
    two, eight = (CollectiveCurves(*[Curve((0.0,), (seconds,))] * 3) for seconds in (2.0, 8.0))
    curves = Curves(collectives={("bcast", 2): two, ("bcast", 8): eight})
    assert [curves.collective("bcast", ranks) for ranks in (2, 4, 6, 100)] == [two, two, eight, eight]
    assert curves.collective("reduce", 2) is None


def test_missing_curves_are_named_once_with_their_command() -> None:
    names = [(one.curve, one.command.split()[-1]) for one in missing(["exchange", "bcast", "exchange", "barrier"])]
    assert names == [("barrier", "CurveBarrier"), ("bcast", "CurveCollective"), ("exchange", "CurveExchange")]
