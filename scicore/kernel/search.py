"""Episodes of the learner: an order and a class of VMs for each activation are varied, played and
kept or taken back.

What a move leaves alone is not played again: play goes on from a snapshot. And it ends as soon as
the rest cannot be good enough any more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scicore.kernel.arena import Arena
from scicore.kernel.instance import NEVER, Floats, Ints

FINISH, LANE, CAUSE, START = range(4)  # columns of a schedule
DRAWS = 6  # random numbers per episode

CRITICAL = 0.8  # how often one that the makespan hangs on is moved, rather than any
# Which move, by the part of [0, 1) that a random number falls into:
SWAP = 0.25  # change classes with another one
BOTH = 0.35  # another class and another place
CLASS = 0.5  # another class
AHEAD = 0.7  # before the one that it waits for; above, any place


class Track(NamedTuple):
    """One schedule: what was decided and what came of it. The last index is the makespan's."""

    order: Ints
    place: Ints  # its inverse
    class_of: Ints
    schedule: Ints  # [activation, column]
    snaps: Ints  # [snapshot, 0 free / 1 owner, slot]
    highs: Ints  # [snapshot]: latest finish so far
    chain: Ints  # activations that the makespan hangs on; first their number


def way_ms(arena: Arena, size_bytes: float, sender: int, receiver: int) -> int:
    """Between lanes of two classes."""
    if size_bytes == 0:
        return 0
    out, in_ = arena.bytes_per_ms[sender], arena.bytes_per_ms[receiver]
    if arena.shared:
        return int(math.ceil(size_bytes / out) + math.ceil(size_bytes / in_))
    slower: float = min(out, in_)
    return math.ceil(size_bytes / slower)


def play(
    arena: Arena, track: Track, snaps: Ints, highs: Ints, begin: int, every: int, limit: float
) -> int:
    """Play from the snapshot on; return the makespan, or -1 - the place where it passed the limit.

    `begin` is a multiple of `every`. Snapshots after it are written to `snaps` and `highs`.
    """
    count = len(track.order)
    slots = arena.slot_at[-1]
    free = np.empty(slots, dtype=np.int64)
    owner = np.empty(slots, dtype=np.int64)
    number = begin // every
    for slot in range(slots):
        free[slot] = track.snaps[number, 0, slot]
        owner[slot] = track.snaps[number, 1, slot]
    high = track.highs[number]
    schedule = track.schedule
    for place in range(begin, count):
        if place % every == 0:
            number = place // every
            for slot in range(slots):
                snaps[number, 0, slot] = free[slot]
                snaps[number, 1, slot] = owner[slot]
            highs[number] = high
        activation = track.order[place]
        kind = track.class_of[activation]
        near_lane, near, ready, cause = -1, 0, 0, -1
        for at in range(arena.parent_at[activation], arena.parent_at[activation + 1]):
            parent = arena.parents[at]
            there = schedule[parent, FINISH]
            if arena.moves_data:
                there += way_ms(arena, arena.parent_bytes[at], track.class_of[parent], kind)
            if there > ready or cause < 0:
                ready, cause = there, parent
        if arena.moves_data and cause >= 0 and not arena.shared:
            # On the lane of the parent that it waits for longest, it waits for the others alone.
            near_lane = schedule[cause, LANE]
            for at in range(arena.parent_at[activation], arena.parent_at[activation + 1]):
                parent = arena.parents[at]
                there = schedule[parent, FINISH]
                if schedule[parent, LANE] != near_lane:
                    there += way_ms(arena, arena.parent_bytes[at], track.class_of[parent], kind)
                near = max(near, there)
        needed = arena.needed[activation, kind]
        best, best_lane, best_ready, best_tight = 1 << 60, -1, 0, -1
        for lane in range(arena.lane_at[kind], arena.lane_at[kind + 1]):
            since = near if lane == near_lane else ready
            tight = free[arena.slot_at[lane] + needed - 1]
            start = max(since, tight)
            if start < best or (start == best and tight > best_tight):
                best, best_lane, best_ready, best_tight = start, lane, since, tight
        finish = best + arena.runtime_ms[activation, kind]
        if best > best_ready:
            cause = owner[arena.slot_at[best_lane] + needed - 1]
        schedule[activation, FINISH] = finish
        schedule[activation, LANE] = best_lane
        schedule[activation, CAUSE] = cause
        schedule[activation, START] = best
        if finish + arena.tail_ms[activation] > limit:
            return -1 - place
        high = max(high, finish)
        hold(arena, free, owner, best_lane, needed, best, finish, activation)
    return int(high)


def hold(
    arena: Arena,
    free: Ints,
    owner: Ints,
    lane: int,
    needed: int,
    start: int,
    finish: int,
    activation: int,
) -> None:
    """Take the slots that have been free for the shortest time; keep the slots ascending."""
    end = arena.slot_at[lane + 1]
    into = arena.slot_at[lane]
    while into + needed < end and free[into + needed] <= start:
        into += 1
    while into + needed < end and free[into + needed] < finish:
        free[into] = free[into + needed]
        owner[into] = owner[into + needed]
        into += 1
    for slot in range(into, into + needed):
        free[slot] = finish
        owner[slot] = activation


def roll_out(
    arena: Arena, order: Ints, activity_of: Ints, bias: Floats, class_of: Ints, start_ms: Ints
) -> int:
    """One episode under a policy: in this order, each activation takes the class in which its
    finish plus its activity's bias is smallest. Fills in classes and starts; returns the makespan.
    """
    count, kinds = arena.runtime_ms.shape
    slots = arena.slot_at[-1]
    free = np.empty(slots, dtype=np.int64)
    owner = np.empty(slots, dtype=np.int64)
    for kind in range(kinds):
        first, last = arena.lane_at[kind], arena.lane_at[kind + 1]
        for slot in range(arena.slot_at[first], arena.slot_at[last]):
            free[slot] = arena.boot_ms[kind]
    lane_of = np.empty(count, dtype=np.int64)
    finish_ms = np.empty(count, dtype=np.int64)
    makespan = 0
    for activation in order:
        least, chosen, chosen_lane, chosen_start = np.inf, -1, -1, 0
        for kind in range(kinds):
            length = arena.runtime_ms[activation, kind]
            if length == NEVER:
                continue
            needed = arena.needed[activation, kind]
            best, best_lane, best_tight = 1 << 60, -1, -1
            ready = 0
            for lane in range(arena.lane_at[kind], arena.lane_at[kind + 1]):
                if arena.moves_data or lane == arena.lane_at[kind]:
                    ready = 0
                    for at in range(arena.parent_at[activation], arena.parent_at[activation + 1]):
                        parent = arena.parents[at]
                        there = finish_ms[parent]
                        if arena.moves_data and (arena.shared or lane_of[parent] != lane):
                            size = arena.parent_bytes[at]
                            there += way_ms(arena, size, class_of[parent], kind)
                        ready = max(ready, there)
                tight = free[arena.slot_at[lane] + needed - 1]
                start = max(ready, tight)
                if start < best or (start == best and tight > best_tight):
                    best, best_lane, best_tight = start, lane, tight
            value = best + length + bias[activity_of[activation], kind]
            if value < least:
                least, chosen, chosen_lane, chosen_start = value, kind, best_lane, best
        finish = chosen_start + arena.runtime_ms[activation, chosen]
        needed = arena.needed[activation, chosen]
        hold(arena, free, owner, chosen_lane, needed, chosen_start, finish, activation)
        class_of[activation] = chosen
        lane_of[activation] = chosen_lane
        start_ms[activation] = chosen_start
        finish_ms[activation] = finish
        makespan = max(makespan, finish)
    return makespan


def find_chain(track: Track, makespan: int) -> None:
    """From what finishes last back to the start of the run."""
    count = len(track.order)
    last = -1
    for place in range(count - 1, -1, -1):
        if track.schedule[track.order[place], FINISH] == makespan:
            last = track.order[place]
            break
    size = 0
    while last >= 0 and size < count:
        size += 1
        track.chain[size] = last
        last = track.schedule[last, CAUSE]
    track.chain[0] = size


def shift(track: Track, source: int, target: int) -> None:
    """Move what stands at one place to another; what is between them gives way."""
    moved = track.order[source]
    step = 1 if target > source else -1
    place = source
    while place != target:
        track.order[place] = track.order[place + step]
        track.place[track.order[place]] = place
        place += step
    track.order[target] = moved
    track.place[moved] = target


def bounds_of(arena: Arena, track: Track, activation: int) -> tuple[int, int]:
    """Between its last parent and its first child, where may it stand?"""
    low, high = 0, len(track.order) - 1
    for at in range(arena.parent_at[activation], arena.parent_at[activation + 1]):
        low = max(low, track.place[arena.parents[at]] + 1)
    for at in range(arena.child_at[activation], arena.child_at[activation + 1]):
        high = min(high, track.place[arena.children[at]] - 1)
    return low, high


def explore(
    arena: Arena,
    track: Track,
    best_order: Ints,
    best_class: Ints,
    best_makespan: int,
    makespan: int,
    every: int,
    temperature: float,
    draws: Floats,
    target: int,
) -> tuple[int, int, int]:
    """One episode per row of `draws`; return the current and the best makespan, and the number of
    episodes played. Ends early when the best reaches the target."""
    count, kinds = arena.runtime_ms.shape
    snaps, highs = np.empty_like(track.snaps), np.empty_like(track.highs)
    backup = track.schedule.copy()
    find_chain(track, makespan)
    for episode in range(len(draws)):
        draw = draws[episode]
        # 1. whom to move: mostly one that the makespan hangs on
        size = track.chain[0]
        if draw[0] < CRITICAL and size > 0:
            activation = track.chain[1 + int(draw[1] * size)]
        else:
            activation = int(draw[1] * count)
        old_class, new_class = track.class_of[activation], track.class_of[activation]
        source = track.place[activation]
        target_place = source
        other, other_class = -1, 0
        low, high = bounds_of(arena, track, activation)
        if draw[2] < CLASS and kinds > 1:
            new_class = int(draw[3] * (kinds - 1))
            new_class += new_class >= old_class
            if arena.runtime_ms[activation, new_class] == NEVER:
                continue
            if draw[2] < SWAP:  # change places with one of the other class
                other = int(draw[4] * count)
                if (
                    track.class_of[other] != new_class
                    or arena.runtime_ms[other, old_class] == NEVER
                ):
                    other = -1
                else:
                    other_class = new_class
            elif draw[2] < BOTH and high > low:
                target_place = low + int(draw[4] * (high - low + 1))
        elif draw[2] < AHEAD:  # before the one that it waits for
            cause = track.schedule[activation, CAUSE]
            if cause < 0:
                continue
            target_place = track.place[cause]
            if target_place < low:
                target_place = low + int(draw[3] * (source - low + 1))
        else:
            target_place = low + int(draw[3] * (high - low + 1))
        if target_place == source and new_class == old_class:
            continue
        # 2. play it
        changed = min(source, target_place)
        if other >= 0:
            changed = min(changed, track.place[other])
        begin = changed - changed % every
        if target_place != source:
            shift(track, source, target_place)
        track.class_of[activation] = new_class
        if other >= 0:
            track.class_of[other] = old_class
        limit = makespan - temperature * math.log(1e-12 + draw[5])
        result = play(arena, track, snaps, highs, begin, every, limit)
        # 3. keep it or take it back
        if result >= 0:
            for place in range(begin, count):
                moved = track.order[place]
                for column in range(4):
                    backup[moved, column] = track.schedule[moved, column]
            for number in range(begin // every, len(highs)):
                for slot in range(snaps.shape[2]):
                    track.snaps[number, 0, slot] = snaps[number, 0, slot]
                    track.snaps[number, 1, slot] = snaps[number, 1, slot]
                track.highs[number] = highs[number]
            makespan = result
            find_chain(track, makespan)
            if makespan < best_makespan:
                best_makespan = makespan
                for place in range(count):
                    best_order[place] = track.order[place]
                    best_class[place] = track.class_of[place]
                if makespan <= target:
                    return makespan, best_makespan, episode + 1
        else:
            for place in range(begin, -result):
                moved = track.order[place]
                for column in range(4):
                    track.schedule[moved, column] = backup[moved, column]
            track.class_of[activation] = old_class
            if other >= 0:
                track.class_of[other] = other_class
            if target_place != source:
                shift(track, target_place, source)
    return makespan, best_makespan, len(draws)
