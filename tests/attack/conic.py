"""Machines as conic programs for Clarabel, in the words of their guides and nothing of mercer's.

Each function poses a nasty problem: a machine, its data, and a reference of the optimum. The value
of the point that Clarabel returns, in extended precision, bounds it from above; its dual value
bounds it from below as far as Clarabel's tolerances go.
"""

import clarabel
import numpy as np

import mercer
from tests.attack.conic_program import L, Posed, Program, price, rows, wide

# ---- linear machines ---------------------------------------------------------------------------


def linear_hinge(rng):
    X, labels, _, weights = rows(rng)
    C, signs, A = price(rng), np.where(labels == 1, 1.0, -1.0), wide(X)
    n, m = A.shape
    program = Program(m + n)
    program.P[:m, :m] = np.eye(m)
    program.q[m:] = C * weights
    program.most(np.hstack([-signs[:, None] * A, -np.eye(n)]), -np.ones(n))
    program.positive(slice(m, None))
    x, lower = program.solve()
    w = x[:m].astype(L)
    losses = np.maximum(0, 1 - signs * (A.astype(L) @ w))
    upper = w @ w / 2 + (C * weights) @ losses
    model = mercer.LinearSVC(C=C, loss="hinge", tol=1e-6, max_iter=20_000, random_state=0)
    return Posed(model, (X, labels, weights), lower, upper)


def linear_l1(rng):
    X, labels, _, weights = rows(rng)
    C, signs, A = price(rng), np.where(labels == 1, 1.0, -1.0), wide(X)
    n, m = A.shape
    program = Program(2 * m + n)
    program.P[2 * m :, 2 * m :] = np.diag(2 * C * weights)
    program.q[: 2 * m] = 1.0
    program.most(np.hstack([-signs[:, None] * A, signs[:, None] * A, -np.eye(n)]), -np.ones(n))
    program.positive(slice(None))
    x, lower = program.solve()
    w = (x[:m] - x[m : 2 * m]).astype(L)
    losses = np.maximum(0, 1 - signs * (A.astype(L) @ w))
    upper = np.abs(w).sum() + (C * weights) @ losses**2
    model = mercer.LinearSVC(C=C, penalty="l1", tol=1e-6, max_iter=20_000, random_state=0)
    return Posed(model, (X, labels, weights), lower, upper)


def _joint(A, labels, costs, classes):
    """Return bounds of Crammer and Singer's machine with the features A."""
    (n, m), k = A.shape, classes
    program = Program(k * m + n)
    program.P[: k * m, : k * m] = np.eye(k * m)
    program.q[k * m :] = costs
    lines = []
    for i, own in enumerate(labels):
        for other in range(k):
            if other != own:
                line = np.zeros(program.count)
                line[other * m : (other + 1) * m] += A[i]
                line[own * m : (own + 1) * m] -= A[i]
                line[k * m + i] = -1.0
                lines.append(line)
    program.most(np.array(lines), -np.ones(len(lines)))
    program.positive(slice(k * m, None))
    x, lower = program.solve()
    W = x[: k * m].reshape(k, m).astype(L)
    F = A.astype(L) @ W.T
    own = F[np.arange(n), labels]
    margins = 1 - own[:, None] + F
    margins[np.arange(n), labels] = 0
    return lower, (W * W).sum() / 2 + costs @ np.maximum(0, margins.max(axis=1))


def linear_joint(rng):
    X, labels, _, weights = rows(rng, 3)
    C = price(rng)
    model = mercer.LinearSVC(
        C=C, multi_class="crammer_singer", tol=1e-6, max_iter=20_000, random_state=0
    )
    return Posed(model, (X, labels, weights), *_joint(wide(X), labels, C * weights, 3))


def kernel_joint(rng):
    X, labels, _, weights = rows(rng, 3)
    C = price(rng)
    model = mercer.SVC(C=C, kernel="linear", multi_class="crammer_singer")
    return Posed(model, (X, labels, weights), *_joint(X, labels, C * weights, 3))


def _tube(rng, squared):
    X, _, y, weights = rows(rng)
    C, A, epsilon = price(rng), wide(X), float(rng.choice([0.0, 0.1, 1.0]))
    n, m = A.shape
    program = Program(m + n)
    program.P[:m, :m] = np.eye(m)
    if squared:
        program.P[m:, m:] = np.diag(2 * C * weights)
    else:
        program.q[m:] = C * weights
    program.most(np.hstack([-A, -np.eye(n)]), epsilon - y)
    program.most(np.hstack([A, -np.eye(n)]), epsilon + y)
    program.positive(slice(m, None))
    x, lower = program.solve()
    w = x[:m].astype(L)
    losses = np.maximum(0, np.abs(y - A.astype(L) @ w) - L(epsilon)) ** (2 if squared else 1)
    loss = ("squared_" if squared else "") + "epsilon_insensitive"
    model = mercer.LinearSVR(
        C=C, loss=loss, epsilon=epsilon, tol=1e-6, max_iter=20_000, random_state=0
    )
    return Posed(model, (X, y, weights), lower, w @ w / 2 + (C * weights) @ losses)


def linear_tube(rng):
    return _tube(rng, False)


def linear_squared_tube(rng):
    return _tube(rng, True)


# ---- logistic losses ---------------------------------------------------------------------------


def _logistic(A, labels, costs, classes, ratio=0.0):
    """Return bounds of logistic regression with features A and free biases."""
    (n, m), k = A.shape, 1 if classes == 2 else classes
    W, sizes, losses = k * (m + 1), k * m, n
    program = Program(W + sizes + losses + n * classes)
    weights = np.array([c * (m + 1) + j for c in range(k) for j in range(m)])
    program.P[weights, weights] = 1 - ratio
    program.q[W : W + sizes] = ratio
    program.q[W + sizes : W + sizes + n] = costs
    for sign in (1.0, -1.0):
        lines = np.zeros((sizes, program.count))
        lines[np.arange(sizes), weights] = sign
        lines[np.arange(sizes), W + np.arange(sizes)] = -1.0
        program.most(lines, np.zeros(sizes))
    values = np.zeros((n, classes, program.count))
    B = wide(A)
    for c in range(classes):
        if classes == 2:
            values[:, 1, : m + 1] = B
        else:
            values[:, c, c * (m + 1) : (c + 1) * (m + 1)] = B
    parts = W + sizes + n + np.arange(n * classes).reshape(n, classes)
    for i in range(n):
        for c in range(classes):
            exponent = values[i, c] - values[i, labels[i]]
            exponent[W + sizes + i] -= 1.0
            top = np.zeros(program.count)
            top[parts[i, c]] = 1.0
            program.exponential(exponent, top)
        line = np.zeros((1, program.count))
        line[0, parts[i]] = 1.0
        program.most(line, np.ones(1))
    x, lower = program.solve()
    F = np.einsum("ncv,v->nc", values[:, :, :W].astype(L), x[:W].astype(L))
    top = F.max(axis=1)
    sums = np.log(np.exp(F - top[:, None]).sum(axis=1)) + top - F[np.arange(n), labels]
    w = x[weights].astype(L)
    penalty = (1 - L(ratio)) * (w @ w) / 2 + L(ratio) * np.abs(w).sum()
    return lower, penalty + costs @ sums


def sparse_logistic(rng):
    classes = int(rng.choice([2, 3]))
    X, labels, _, weights = rows(rng, classes)
    C, ratio = price(rng), float(rng.choice([0.0, 0.5, 1.0]))
    model = mercer.LogisticRegression(C=C, l1_ratio=ratio, solver="saga", max_iter=1000)
    bounds = _logistic(X, labels, C * weights, classes, ratio)
    return Posed(model, (X, labels, weights), *bounds)


def kernel_logistic(rng):
    classes = int(rng.choice([2, 3]))
    X, labels, _, weights = rows(rng, classes)
    C = price(rng)
    model = mercer.KernelLogisticRegression(C=C, kernel="linear")
    return Posed(model, (X, labels, weights), *_logistic(X, labels, C * weights, classes))


# ---- norms and penalties -----------------------------------------------------------------------


def norm(rng):
    X, _, y, _ = rows(rng)
    A, p = wide(X), float(rng.choice([1, 2, np.inf]))
    (n, m), radius = A.shape, None
    # Squares count without a ball, the norm itself with one.
    program = Program(m + n + m)
    bound = slice(m, m + n)
    program.most(np.hstack([-A, -np.eye(n), np.zeros((n, m))]), -y)
    program.most(np.hstack([A, -np.eye(n), np.zeros((n, m))]), y)
    if rng.random() < 0.6:
        ball, radius = float(rng.choice([1, 2, np.inf])), float(10.0 ** rng.uniform(-3, 2))
    if p == 1:
        program.q[bound] = 1.0
    elif p == 2 and radius is None:
        program.P[bound, bound] = 2 * np.eye(n)
    elif p == 2:
        program.q[-1] = 1.0
        length = np.zeros(program.count)
        length[-1] = 1.0
        program.ball(length, np.eye(program.count)[bound])
    else:
        program.q[-1] = 1.0
        line = np.zeros((n, program.count))
        line[:, bound], line[:, -1] = np.eye(n), -1.0
        program.most(line, np.zeros(n))
    if radius is not None:
        k = m - 1
        eye, size = np.eye(program.count), np.eye(program.count)[m + n : m + n + k]
        program.most(eye[:k] - size, np.zeros(k))
        program.most(-eye[:k] - size, np.zeros(k))
        if ball == 2:
            program._add(
                np.vstack([np.zeros(program.count), -eye[:k]]),
                np.append(radius, np.zeros(k)),
                clarabel.SecondOrderConeT(1 + k),
            )
        elif ball == 1:
            program.most(size.sum(axis=0)[None], np.array([radius]))
        else:
            program.most(size, np.full(k, radius))
    x, lower = program.solve()
    if radius is not None:  # into the ball, whatever rounding did
        x[: m - 1] *= min(1.0, radius / max(np.linalg.norm(x[: m - 1], ball), 1e-300))
    r = y - A.astype(L) @ x[:m].astype(L)
    upper = {1: np.abs(r).sum(), 2: np.sqrt(r @ r), np.inf: np.abs(r).max()}[p]
    options = {} if radius is None else {"radius": radius, "ball": ball}
    upper = upper**2 if p == 2 and radius is None else upper
    return Posed(mercer.NormRegressor(p, **options), (X, y), lower, upper)


def penalty(rng):
    X, _, y, _ = rows(rng)
    A, kind = wide(X), int(rng.integers(3))
    n, m = A.shape
    program = Program(m + 2 * n)
    v, t = np.eye(program.count)[m : m + n], np.eye(program.count)[m + n :]
    fits = np.hstack([A, np.zeros((n, 2 * n))])
    a = float(10.0 ** rng.uniform(-2, 1))
    if kind == 0:  # Huber's: v² + 2a|r − v|, v being the part that is squared
        program.P[m : m + n, m : m + n] = 2 * np.eye(n)
        program.q[m + n :] = 2 * a
        program.most(fits + v - t, y)
        program.most(-fits - v - t, -y)
        chosen = mercer.Huber(a)
    elif kind == 1:
        program.q[m + n :] = 1.0
        program.most(-fits - t, a - y)
        program.most(fits - t, a + y)
        chosen = mercer.DeadZone(a)
    else:
        a = float(rng.uniform(0.05, 0.95))
        program.q[m + n :] = 1.0
        program.most(-a * fits - t, -a * y)
        program.most((1 - a) * fits - t, (1 - a) * y)
        chosen = mercer.Quantile(a)
    program.positive(slice(m + n, None))
    x, lower = program.solve()
    r, a = y - A.astype(L) @ x[:m].astype(L), L(a)
    size = np.abs(r)
    value = (
        np.where(size <= a, r * r, a * (2 * size - a)),
        np.maximum(0, size - a),
        np.where(r > 0, a * r, (a - 1) * r),
    )[kind]
    return Posed(mercer.PenaltyRegressor(chosen), (X, y), lower, value.sum())


# ---- graphs, weights of kernels, landmarks -----------------------------------------------------


def graph(rng):
    """A machine on a graph of neighbours; the graph is taken from the machine."""
    X, labels, y, _ = rows(rng)
    X, n = X / np.abs(X).max(), len(X)
    n, m = X.shape
    hidden = np.arange(n) >= max(3, n // 2)
    kind = int(rng.integers(3))
    smoothness, C = float(10.0 ** rng.uniform(-2, 1)), float(10.0 ** rng.uniform(-2, 2))
    options = {"kernel": "linear", "smoothness": smoothness, "n_neighbors": 2}
    if kind == 2:
        model, targets = mercer.LaplacianRidge(C, **options), np.where(hidden, np.nan, y)
    else:
        model = mercer.LaplacianSVC(C, loss=("squared_hinge", "hinge")[kind], **options)
        targets = np.where(hidden, -1, labels)
    W = model.fit(X, targets).graph_.toarray()
    degrees = W.sum(axis=1)
    scale = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0)), 0.0)
    R = smoothness * (np.diag((degrees > 0) * 1.0) - scale[:, None] * W * scale)
    known = np.flatnonzero(~hidden)
    k, A = len(known), X[~hidden]
    program = Program(m + k)
    program.P[:m, :m] = (C if kind == 2 else 1.0) * np.eye(m) + X.T @ R @ X
    if kind == 2:
        program.P[:m, :m] += A.T @ A
        program.q[:m] = -A.T @ y[known]
        program.most(-np.eye(m + k)[m:], np.zeros(k))
    else:
        signs = np.where(labels[known] == 1, 1.0, -1.0)
        program.most(np.hstack([-signs[:, None] * A, -np.eye(k)]), -np.ones(k))
        program.positive(slice(m, None))
        if kind == 0:
            program.P[m:, m:] = 2 * C * np.eye(k)
        else:
            program.q[m:] = C
    x, lower = program.solve()
    w = x[:m].astype(L)
    f = X.astype(L) @ w
    size = f @ (R.astype(L) @ f) / 2
    if kind == 2:
        e = y[known] - f[known]
        half = L(0.5) * float(y[known] @ y[known])
        return Posed(model, (X, targets), lower + float(half), size + C * (w @ w) / 2 + e @ e / 2)
    losses = np.maximum(0, 1 - signs * f[known]) ** (2 - kind)
    return Posed(model, (X, targets), lower, size + w @ w / 2 + C * losses.sum())


def _features(K):
    """Return Z with ZZᵀ = K, up to rounding."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > 1e-12 * max(values.max(), 1e-300)
    return vectors[:, kept] * np.sqrt(values[kept])


def kernel_weights(rng):
    X, labels, _, weights = rows(rng)
    X = X / np.abs(X).max()
    C, signs = float(10.0 ** rng.uniform(-2, 2)), np.where(labels == 1, 1.0, -1.0)
    kernels = [mercer.RBF(gamma=1.0), mercer.Linear()]
    Zs = [_features(kernel(X)) for kernel in kernels]
    Z, n, p = np.hstack(Zs), len(X), float(rng.choice([1.0, 2.0]))
    m = Z.shape[1]
    program = Program(m + 1 + n + 3)  # functions, bias, losses, two norms and their sum
    program.q[m + 1 : m + 1 + n] = C * weights
    program.P[-1, -1] = 1.0
    eye, start = np.eye(program.count), 0
    for place, part in enumerate(Zs):
        program.ball(eye[-3 + place], eye[start : start + part.shape[1]])
        start += part.shape[1]
    program.most((eye[-3] + eye[-2] - eye[-1])[None], np.zeros(1))
    fits = np.hstack([Z, np.ones((n, 1)), np.zeros((n, n + 3))])
    program.most(-signs[:, None] * fits - eye[m + 1 : m + 1 + n], -np.ones(n))
    program.positive(slice(m + 1, m + 1 + n))
    x, lower = program.solve()
    w = np.split(x[:m].astype(L), [Zs[0].shape[1]])
    s = 2 * p / (p + 1)
    norms = np.array([np.sqrt(part @ part) for part in w])
    losses = np.maximum(0, 1 - signs * (Z.astype(L) @ x[:m].astype(L) + L(x[m])))
    upper = (norms**s).sum() ** (2 / s) / 2 + (C * weights) @ losses
    # ZZᵀ is K up to rounding, and a weight of the norm p bounds that of the norm 1 from above only.
    upper = float(upper) * (1 + 1e-9)
    model = mercer.MultipleKernelClassifier(
        kernels, C=C, method="lp", p=p, normalise=False, tol=1e-6
    )
    return Posed(model, (X, labels, weights), lower if p == 1 else -np.inf, upper)


def _landmark_features(model, X):
    """Return K_nM of a fitted machine times the inverse root of K_MM."""
    streamed = hasattr(model, "_landmark_points")
    points = model._landmark_points if streamed else model.expansion_points
    values, vectors = np.linalg.eigh(model.kernel_(points, points))
    kept = values > 1e-11 * values.max()
    return model.kernel_(X, points) @ (vectors[:, kept] / np.sqrt(values[kept]))


def landmark_logistic(rng):
    classes = int(rng.choice([2, 3]))
    X, labels, _, weights = rows(rng, classes)
    X, C = X / np.abs(X).max(), float(10.0 ** rng.uniform(-2, 2))
    options = {"C": C, "kernel": mercer.RBF(gamma=1.0), "approximation": 4}
    if rng.random() < 0.5:
        model = mercer.StreamedClassifier(loss="logistic", tol=1e-6, **options)
    else:
        model = mercer.KernelLogisticRegression(**options)
    Z = _landmark_features(model.fit(X, labels, sample_weight=weights), X)
    lower, upper = _logistic(Z, labels, C * weights, classes)
    return Posed(model, (X, labels, weights), lower, float(upper) * (1 + 1e-6))


CASES = [
    *(linear_hinge, linear_l1, linear_joint, kernel_joint, linear_tube, linear_squared_tube),
    *(sparse_logistic, kernel_logistic, norm, penalty, graph, kernel_weights, landmark_logistic),
]
