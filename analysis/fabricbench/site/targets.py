# SPDX-License-Identifier: Apache-2.0
"""The processor that programs are built for (``-march``), and whether the nodes' processors have its instructions."""

import re
from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from fabricbench.site.fabric import Fabric

NATIVE = "native"
"""The processor of the machine that builds the programs."""

_SHOWN = 4
_V2 = ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3")
_V3 = ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
_V4 = ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
LEVELS: dict[str, tuple[str, ...]] = {
    "x86-64": (),
    "x86-64-v2": _V2,
    "x86-64-v3": (*_V2, *_V3),
    "x86-64-v4": (*_V2, *_V3, *_V4),
}
"""The levels of the x86-64 psABI in ascending order, with their flags in ``/proc/cpuinfo`` beyond the first level."""

MACROS = {
    "__SSE3__": "pni", "__SSSE3__": "ssse3", "__SSE4_1__": "sse4_1", "__SSE4_2__": "sse4_2", "__POPCNT__": "popcnt",
    "__LAHF_SAHF__": "lahf_lm", "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16": "cx16", "__LZCNT__": "abm", "__AVX__": "avx",
    "__AVX2__": "avx2", "__BMI__": "bmi1", "__BMI2__": "bmi2", "__F16C__": "f16c", "__FMA__": "fma",
    "__MOVBE__": "movbe", "__FMA4__": "fma4", "__XOP__": "xop", "__SSE4A__": "sse4a",

    "__AVXVNNI__": "avx_vnni", "__AVX512F__": "avx512f", "__AVX512BW__": "avx512bw",
    "__AVX512CD__": "avx512cd", "__AVX512DQ__": "avx512dq", "__AVX512VL__": "avx512vl", "__AVX512IFMA__": "avx512ifma",
    "__AVX512VBMI__": "avx512vbmi", "__AVX512VBMI2__": "avx512_vbmi2", "__AVX512VNNI__": "avx512_vnni",
    "__AVX512BITALG__": "avx512_bitalg", "__AVX512VPOPCNTDQ__": "avx512_vpopcntdq", "__AVX512BF16__": "avx512_bf16",
    "__AVX512FP16__": "avx512_fp16",
}  # fmt: skip
"""Macros by which compilers state the instruction sets that they generate code for, and their flags in
``/proc/cpuinfo``. The launch wrapper records the same flags of each node (apps/launch/instructions.c)."""


class Target(BaseModel):
    """What programs are built for: ``name`` is the value of ``-march``.

    ``instructions``: the instruction sets that the compiler uses, as flags of ``/proc/cpuinfo``; empty if they are
    unknown or the processor is no x86-64.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    instructions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The name, and the highest level that it includes if the name does not say it: ``native (x86-64-v3)``."""
        level = level_of(self.instructions) if self.instructions else ""
        return f"{self.name} ({level})" if level and self.name not in LEVELS else self.name

    def lacking(self, flags: Collection[str]) -> tuple[str, ...]:
        """Returns the instruction sets that a processor with these ``flags`` does not have."""
        return tuple(sorted(set(self.instructions) - set(flags)))


def level_of(flags: Collection[str]) -> str:
    """Returns the highest level whose flags are all among ``flags``."""
    return [level for level, required in LEVELS.items() if set(required) <= set(flags)][-1]


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> set[str]:
    """The processor's flags in ``/proc/cpuinfo``; empty if there are none."""
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return set()
    match = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return set(match.group(1).split()) if match else set()


def flags_of_nodes(fabric: Fabric) -> set[str] | None:
    """Returns the flags of the processors of a fabric's nodes; None if they are unknown.

    They are those of the declared level, or of this machine for nodes that are declared ``native`` and for launches
    without a scheduler.
    """
    processor = fabric.nodes.processor
    if processor is not None and processor != NATIVE:
        return set(LEVELS[processor])
    is_here = processor == NATIVE or fabric.scheduler.is_local
    return (processor_flags() or None) if is_here else None


def lacking_on(target: Target | None, fabric: Fabric) -> tuple[str, ...]:
    """Returns the instruction sets of a target that the fabric's nodes lack; empty if they lack none or are unknown."""
    flags = flags_of_nodes(fabric)
    return () if target is None or flags is None else target.lacking(flags)


def in_words(flags: Collection[str]) -> str:
    """Returns flags as text, of many the first and the number of the others: ``avx512bw, avx512cd and 7 others``."""
    names = sorted(flags)
    return ", ".join(names) if len(names) <= _SHOWN else f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} others"


def set_up_for(flags: Collection[str]) -> str:
    """Returns the command that builds programs for a processor with these ``flags``."""
    return f"fabricbench setup --target {level_of(flags)}"
