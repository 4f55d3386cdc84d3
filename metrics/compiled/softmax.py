"""Softmax regression's loss and gradient, in one pass over the rows.

Scores of a row are its codes times each class's coefficients plus the class's intercept; the loss
is the mean over rows of the log of the sum of exp(scores), less the score of the row's own class,
plus a ridge penalty on the coefficients. The first of two classes has scores 0, which makes the
loss that of binary logistic regression, with one set of coefficients.

It is fast because a block of rows stays in the processor's cache from its scores to its gradient,
and every loop runs along the rows, several at a time: two classes by four latents together (short
ones are filled up with zeros), and an exponential that the compiler can unroll, unlike the
system's. The gradient needs no probabilities: the codes are divided by the sums of exponentials.
"""

import math

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

Floats = NDArray[np.float64]

BLOCK = 256  # rows whose codes and scores fit into the cache
CLASSES, LATENTS = 2, 4  # taken together
PER_LN2 = 1 / math.log(2)
LN2 = 6.93145751953125e-1  # its first 20 bits, so that a product with a small integer is exact
LN2_REST = 1.42860682030941723212e-6
LAST_BITS = 1.5 * 2.0**52  # a sum with it holds an integer in the last bits
LOWEST = -700.0  # the exponential of which is 1e-304
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (1 / math.factorial(n) for n in range(2, 13))


class SoftmaxLoss:
    """The loss of (rows, latents) codes, and of targets that number the classes from 0."""

    def __init__(self, codes: Floats, target: NDArray[np.intp], classes: int) -> None:
        count, latents = codes.shape
        self.count, self.classes, self.latents = count, classes, latents
        self.fixed = 1 if classes == 2 else 0  # classes without coefficients
        size = min(BLOCK, _filled(count, 8))
        blocks = -(-count // size)
        padded = np.zeros((blocks * size, _filled(latents + 1, LATENTS)))
        padded[:count, :latents], padded[:count, latents] = codes, 1.0
        # Rows that only fill the last block are 0, with the intercept's, and add nothing.
        self.rows = np.ascontiguousarray(padded.reshape(blocks, size, -1).transpose(0, 2, 1))
        self.target = target
        own = np.zeros((classes, latents + 1))
        np.add.at(own, target, padded[:count, : latents + 1])
        self.own = own[self.fixed :]  # sums of each class's rows: what pulls its scores up
        self.weights = np.zeros((_filled(classes, CLASSES), padded.shape[1]))
        self.gradient = np.empty_like(self.weights)
        self.sums, self.own_scores = np.empty(count), np.empty(count)
        self.space = (
            np.empty((len(self.weights), size)),
            np.empty((padded.shape[1], size)),
            np.empty((3, size)),
        )

    @property
    def start(self) -> Floats:
        """Coefficients and intercepts of 0, as they are handed to the loss: flat."""
        return np.zeros(self.own.size)

    def __call__(self, coefficients: Floats, ridge: float) -> tuple[float, Floats]:
        """Loss and gradient at (classes, latents and intercept), flat."""
        inside = slice(self.fixed, self.classes), slice(0, self.latents + 1)
        coefficients = coefficients.reshape(self.own.shape)
        self.weights[inside] = coefficients
        _one_pass(
            self.weights,
            self.rows,
            self.target,
            self.classes,
            self.sums,
            self.own_scores,
            self.gradient,
            *self.space,
        )
        gradient = self.gradient[inside] - self.own
        gradient /= self.count
        slopes = coefficients[:, :-1]
        gradient[:, :-1] += ridge * slopes
        loss = float(np.add.reduce(np.log(self.sums) - self.own_scores)) / self.count
        return loss + 0.5 * ridge * float(np.vdot(slopes, slopes)), gradient.ravel()


def _filled(count: int, unit: int) -> int:
    return -(-count // unit) * unit


@compiled()
def _one_pass(
    weights: Floats,
    rows: Floats,
    target: NDArray[np.intp],
    classes: int,
    sums: Floats,
    own_scores: Floats,
    gradient: Floats,
    scores: Floats,
    scaled: Floats,
    space: Floats,
) -> None:
    """Fill every row's sum of exponentials and score of its own class, both relative to the row's
    highest score, and the gradient but for what pulls the rows' own classes up."""
    size = rows.shape[2]
    gradient[:] = 0.0
    highest, total, whole = space[0], space[1], space[2]
    for block in range(len(rows)):
        first = block * size
        here = min(size, len(target) - first)
        _score(weights, rows[block], scores)
        _highest(scores, classes, highest)
        for row in range(here):
            own_scores[first + row] = scores[target[first + row], row] - highest[row]
        _exponentials(scores, classes, highest, whole, total)
        for row in range(here):
            sums[first + row] = total[row]
            total[row] = 1 / total[row]
        _add_gradient(scores, rows[block], total, scaled, gradient)


@compiled("contract")
def _score(weights: Floats, rows: Floats, scores: Floats) -> None:
    for k in range(0, len(weights), 2):
        one, two = scores[k], scores[k + 1]
        u, v = weights[k], weights[k + 1]
        for j in range(0, len(rows), 4):
            x0, x1, x2, x3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
            a0, a1, a2, a3 = u[j], u[j + 1], u[j + 2], u[j + 3]
            b0, b1, b2, b3 = v[j], v[j + 1], v[j + 2], v[j + 3]
            if j == 0:
                for r in range(rows.shape[1]):
                    one[r] = a0 * x0[r] + a1 * x1[r] + a2 * x2[r] + a3 * x3[r]
                    two[r] = b0 * x0[r] + b1 * x1[r] + b2 * x2[r] + b3 * x3[r]
            else:
                for r in range(rows.shape[1]):
                    one[r] += a0 * x0[r] + a1 * x1[r] + a2 * x2[r] + a3 * x3[r]
                    two[r] += b0 * x0[r] + b1 * x1[r] + b2 * x2[r] + b3 * x3[r]


@compiled()
def _highest(scores: Floats, classes: int, highest: Floats) -> None:
    highest[:] = scores[0]
    for k in range(1, classes):
        line = scores[k]
        for r in range(len(highest)):
            highest[r] = max(highest[r], line[r])


@compiled("contract")
def _exponentials(
    scores: Floats, classes: int, highest: Floats, whole: Floats, total: Floats
) -> None:
    """In place, and their sum: exp(x) = 2^n · exp(x - n · ln 2), by a series of 12 terms."""
    total[:] = 0.0
    power = whole.view(np.int64)
    for k in range(classes):
        line = scores[k]
        bits = line.view(np.int64)
        for r in range(len(total)):
            x = max(line[r] - highest[r], LOWEST)
            shifted = x * PER_LN2 + LAST_BITS
            whole[r] = shifted
            n = shifted - LAST_BITS
            x = x - n * LN2 - n * LN2_REST
            tail = C7 + x * (C8 + x * (C9 + x * (C10 + x * (C11 + x * C12))))
            line[r] = 1 + x * (1 + x * (C2 + x * (C3 + x * (C4 + x * (C5 + x * (C6 + x * tail))))))
        for r in range(len(total)):
            bits[r] += power[r] << 52  # n is added to the exponent
        for r in range(len(total)):
            total[r] += line[r]


@compiled("contract", "reassoc")
def _add_gradient(
    exponentials: Floats, rows: Floats, factor: Floats, scaled: Floats, gradient: Floats
) -> None:
    size = len(factor)
    for j in range(len(rows)):
        x, y = rows[j], scaled[j]
        for r in range(size):
            y[r] = x[r] * factor[r]
    for k in range(0, len(exponentials), 2):
        one, two = exponentials[k], exponentials[k + 1]
        for j in range(0, len(rows), 4):
            y0, y1, y2, y3 = scaled[j], scaled[j + 1], scaled[j + 2], scaled[j + 3]
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            for r in range(size):
                a0 += one[r] * y0[r]
                a1 += one[r] * y1[r]
                a2 += one[r] * y2[r]
                a3 += one[r] * y3[r]
                b0 += two[r] * y0[r]
                b1 += two[r] * y1[r]
                b2 += two[r] * y2[r]
                b3 += two[r] * y3[r]
            gradient[k, j] += a0
            gradient[k, j + 1] += a1
            gradient[k, j + 2] += a2
            gradient[k, j + 3] += a3
            gradient[k + 1, j] += b0
            gradient[k + 1, j + 1] += b1
            gradient[k + 1, j + 2] += b2
            gradient[k + 1, j + 3] += b3
