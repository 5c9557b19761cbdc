"""Random numbers in compiled code, from a state of one uint64 (SplitMix64: Steele, Lea and Flood 2014)."""

from __future__ import annotations

import numpy as np

from lib.run.compiled import njit

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31, S32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
UNIT = 2.0**-53


@njit(nogil=True, forceinline=True)
def mixed(value):
    """Another uint64, each bit of which depends on each bit of this one."""
    value = np.uint64(value)
    value = (value ^ (value >> S30)) * FIRST
    value = (value ^ (value >> S27)) * SECOND
    return value ^ (value >> S31)


@njit(nogil=True, forceinline=True)
def start_of(seed, stream):
    """The state (uint64) that stream number `stream` of a seed begins with."""
    return mixed(mixed(np.uint64(seed) + STEP) + np.uint64(stream))


@njit(nogil=True, forceinline=True)
def draw(state):
    """The next uint64."""
    state[0] += STEP
    return mixed(state[0])


@njit(nogil=True, forceinline=True)
def uniform(state):
    """float64 in [0, 1)."""
    return np.float64(draw(state) >> S11) * UNIT


@njit(nogil=True, forceinline=True)
def below(state, limit):
    """int64 in 0, ..., limit - 1, for a limit below 2**32."""
    return np.int64(((draw(state) >> S32) * np.uint64(limit)) >> S32)
