"""Compiled kernels for the answers of some public functions, the fastest known but for EM, which is
plain: for `bench_kernels`.

Each has its own cheap random numbers (xoshiro256++, Blackman and Vigna 2021), one thread, and
nothing but the formula.
"""

import math

import numba
import numpy as np

QUARTER, ONES = np.uint64(1 << 16), np.uint64(0x0001000100010001)
HIGHEST, REST = (
    np.uint64(0x8000800080008000),
    np.uint64(0x7FFF7FFF7FFF7FFF),
)  # the highest bits of four quarters, and the others
LOW = np.uint64(0xFFFFFFFF)
CHUNK = 1024  # replicates whose executions are sorted together


@numba.njit(inline="always")
def _rotated(word, left):
    return (word << np.uint64(left)) | (word >> np.uint64(64 - left))


@numba.njit(inline="always")
def _step(a, b, c, d):
    """Return the next state of xoshiro256++; its number is `_mixed(a, d)`."""
    moved, turned = c ^ a, d ^ b
    return a ^ turned, b ^ moved, moved ^ (b << np.uint64(17)), _rotated(turned, 45)


@numba.njit(inline="always")
def _mixed(a, d):
    return _rotated(a + d, 23) + a


@numba.njit
def draw_below(out, size, state):
    """Fill in whole numbers below a size: upper halves of products of 32 bits (the bias is below
    size / 2^32)."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    for i in range(0, len(out) - 1, 2):
        word = _mixed(a, d)
        a, b, c, d = _step(a, b, c, d)
        out[i], out[i + 1] = (
            ((word & LOW) * np.uint64(size)) >> np.uint64(32),
            ((word >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32),
        )
    if len(out) % 2:
        out[-1] = ((_mixed(a, d) & LOW) * np.uint64(size)) >> np.uint64(32)
        a, b, c, d = _step(a, b, c, d)
    state[0], state[1], state[2], state[3] = a, b, c, d


@numba.njit(error_model="numpy")
def redrawn_means(values, number, state):
    """Return the means of replicates of nests (cells, binaries, executions, iterations), every
    level redrawn: (cells, number)."""
    cells, binaries, executions, iterations = values.shape
    means, table = np.zeros((cells, number)), np.empty(iterations**2)
    parents, children = (
        np.empty(CHUNK * binaries, np.uint32),
        np.empty(CHUNK * binaries * executions, np.uint32),
    )
    slots, ends = np.empty(len(children), np.uint32), np.empty(binaries * executions + 1, np.int64)
    for cell in range(cells):
        for first in range(0, number, CHUNK):
            rows = min(CHUNK, number - first)
            draw_below(parents[: rows * binaries], binaries, state)
            draw_below(children[: rows * binaries * executions], executions, state)
            ends[:] = 0
            for parent in range(rows * binaries):
                base = parents[parent] * executions + 1
                for child in range(executions):
                    children[parent * executions + child] += base
                    ends[children[parent * executions + child]] += 1
            for name in range(1, len(ends)):
                ends[name] += ends[name - 1]
            for index in range(rows * binaries * executions - 1, -1, -1):
                name = children[index]
                ends[name] -= 1
                slots[ends[name]] = first + index // (binaries * executions)
            for name in range(1, len(ends)):  # the executions `name - 1` of all replicates
                stop = ends[name + 1] if name + 1 < len(ends) else rows * binaries * executions
                row = values[cell, (name - 1) // executions, (name - 1) % executions]
                for i in range(iterations):
                    for j in range(iterations):
                        table[i * iterations + j] = row[i] + row[j]
                _add_sums(means[cell], slots[ends[name] : stop], table, row, state)
    return means / (binaries * executions * iterations)


@numba.njit(error_model="numpy")
def _add_sums(totals, slots, pairs, values, state):
    """Add the sum of a redraw of an execution to each replicate: four pairs from a word, all anew
    where one is refused."""
    size = np.uint64(len(pairs))
    times = QUARTER // size
    beyond, inverse = (
        (QUARTER - times * size) * ONES,
        (QUARTER * QUARTER - np.uint64(1)) // times + np.uint64(1),
    )
    picks = len(values) // 2
    a, b, c, d = state[0], state[1], state[2], state[3]
    low, half = np.uint64(0xFFFF), np.uint64(32)
    for slot in slots:
        total = two = three = four = 0.0
        left = picks
        while left > 0:
            word = _mixed(a, d)
            a, b, c, d = _step(a, b, c, d)
            if ((word & REST) + beyond) & word & HIGHEST:
                continue
            total += pairs[((word & low) * inverse) >> half]
            if left > 1:
                two += pairs[(((word >> np.uint64(16)) & low) * inverse) >> half]
            if left > 2:
                three += pairs[(((word >> np.uint64(32)) & low) * inverse) >> half]
            if left > 3:
                four += pairs[((word >> np.uint64(48)) * inverse) >> half]
            left -= 4
        if len(values) % 2:
            total += values[((_mixed(a, d) & LOW) * np.uint64(len(values))) >> half]
            a, b, c, d = _step(a, b, c, d)
        totals[slot] += (total + two) + (three + four)
    state[0], state[1], state[2], state[3] = a, b, c, d


@numba.njit(error_model="numpy")
def random_scores(values, number, state):
    """Return the logs of scores of one random run per benchmark of machines x benchmarks x runs:
    (machines, number).

    One number of 16 bits picks the runs of half the benchmarks.
    """
    machines, benchmarks, runs = values.shape
    half = benchmarks // 2
    tables, picks = np.zeros((2, runs**half)), np.empty(2 * number, np.uint32)
    scores = np.empty((machines, number))
    for machine in range(machines):
        for side in range(2):
            filled = 1
            tables[side, 0] = 0.0
            for benchmark in range(side * half, (side + 1) * half):
                for run in range(runs - 1, -1, -1):
                    log = np.log(values[machine, benchmark, run]) / benchmarks
                    for entry in range(filled):
                        tables[side, run * filled + entry] = tables[side, entry] + log
                filled *= runs
        draw_below(picks, runs**half, state)
        for index in range(number):
            scores[machine, index] = tables[0, picks[2 * index]] + tables[1, picks[2 * index + 1]]
    return scores


@numba.njit(error_model="numpy")
def exchanged(new, old, number, state):
    """Return the means of both sides' differences after random exchanges of the runs of every
    benchmark: (suites, number)."""
    suites, benchmarks, runs = new.shape
    pool = np.empty(2 * runs)
    differences = np.zeros((suites, number))
    for suite in range(suites):
        for benchmark in range(benchmarks):
            pool[:runs], pool[runs:] = new[suite, benchmark], old[suite, benchmark]
            total = pool.sum()
            a, b, c, d = state[0], state[1], state[2], state[3]
            for index in range(number):
                half = 0.0
                for position in range(
                    0, runs, 2
                ):  # the first half of a shuffle (Fisher and Yates), two places from one word
                    word = _mixed(a, d)
                    a, b, c, d = _step(a, b, c, d)
                    partner = position + (
                        ((word & LOW) * np.uint64(2 * runs - position)) >> np.uint64(32)
                    )
                    pool[position], pool[np.uint64(partner)] = (
                        pool[np.uint64(partner)],
                        pool[position],
                    )
                    half += pool[position]
                    if position + 1 < runs:
                        partner = (
                            position
                            + 1
                            + (
                                ((word >> np.uint64(32)) * np.uint64(2 * runs - position - 1))
                                >> np.uint64(32)
                            )
                        )
                        pool[position + 1], pool[np.uint64(partner)] = (
                            pool[np.uint64(partner)],
                            pool[position + 1],
                        )
                        half += pool[position + 1]
                differences[suite, index] += 2 * half - total
            state[0], state[1], state[2], state[3] = a, b, c, d
    return differences / (benchmarks * runs)


@numba.njit(error_model="numpy")
def largest_distances(x, y):
    """Return n m times the distance of two empirical distributions of sorted samples (cells, n),
    (cells, m)."""
    cells, n, m = x.shape[0], x.shape[1], y.shape[1]
    steps = np.empty(cells, np.int64)
    for cell in range(cells):
        i = j = largest = 0
        while i < n and j < m:
            value = min(x[cell, i], y[cell, j])
            while i < n and x[cell, i] <= value:
                i += 1
            while j < m and y[cell, j] <= value:
                j += 1
            largest = max(largest, abs(i * m - j * n))
        steps[cell] = largest
    return steps


@numba.njit(error_model="numpy", fastmath=True)
def best_mixtures(values, starts, margin):
    """Return the largest BIC of normal mixtures of standardised samples (samples, values), of all
    numbers of components and both models.

    `starts` (numbers, samples, components, 3) hold weights, means and variances. Fits whose BIC is
    within `margin` of the largest at a relative change of 1e-5 climb on to 1e-10.
    """
    samples, n = values.shape
    bics, room = np.empty(samples), np.empty((starts.shape[2] + 1, n))
    for sample in range(samples):
        theta, bic = (
            np.empty((len(starts), 2, starts.shape[2], 3)),
            np.full((len(starts), 2), -np.inf),
        )
        for tolerance in (1e-5, 1e-10):
            threshold = bic.max() - margin
            for index in range(len(starts)):
                number = index + 1
                for unequal in range(2 if number > 1 else 1):
                    fitted = theta[index, unequal, :number]
                    if tolerance == 1e-5:
                        fitted[:] = starts[index, sample, :number]
                    elif not (
                        bic[index, unequal] >= threshold and np.isfinite(bic[index, unequal])
                    ):
                        continue
                    parameters = 2 * number - 1 + (number if unequal else 1)
                    bic[index, unequal] = 2 * _climb(
                        values[sample], fitted, unequal, tolerance, room
                    ) - parameters * math.log(n)
        bics[sample] = bic.max()
    return bics


@numba.njit(error_model="numpy", fastmath=True)
def _climb(x, theta, unequal, tolerance, room):
    """Take steps of EM until the log-likelihood hardly changes, and return it; minus infinity where
    a variance becomes 0."""
    number, n, previous, loglik = len(theta), len(x), -np.inf, -np.inf
    if not unequal:
        theta[:, 2] = (theta[:, 0] * theta[:, 2]).sum()
    for _ in range(20_000):
        if theta[:, 2].min() <= 1e-12:
            return -np.inf
        room[number] = 0.0
        for k in range(number):
            slope, height = -0.5 / theta[k, 2], theta[k, 0] / math.sqrt(2 * math.pi * theta[k, 2])
            for i in range(n):
                room[k, i] = height * math.exp(slope * (x[i] - theta[k, 1]) ** 2)
                room[number, i] += room[k, i]
        loglik = np.log(room[number]).sum()
        if abs(loglik - previous) <= tolerance * (1 + abs(loglik)):
            return loglik
        previous, pooled = loglik, 0.0
        for k in range(number):
            mass = moment = square = 0.0
            for i in range(n):
                share = room[k, i] / room[number, i]
                mass += share
                moment += share * x[i]
                square += share * x[i] * x[i]
            theta[k, 0], theta[k, 1], theta[k, 2] = (
                mass / n,
                moment / mass,
                square / mass - (moment / mass) ** 2,
            )
            pooled += square - moment**2 / mass
        if not unequal:
            theta[:, 2] = pooled / n
    return loglik
