"""The contracts are sharp: a loss or penalty with one formula off by 1 % breaks one of them."""

import dataclasses

import numpy as np
import pytest
import test_losses
import test_penalties

OFF = 1.01
SHAPES = [(test_penalties.D,), (test_penalties.D, test_penalties.K)]


def scaled(result):
    """A result 1 % too large, whatever its form."""
    if result is None:
        return None
    if dataclasses.is_dataclass(result):
        return dataclasses.replace(result, **{f: OFF * v for f, v in vars(result).items()})
    return tuple(scaled(part) for part in result) if isinstance(result, tuple) else OFF * result


def mutant(part, method, change):
    """The part, with `change(original method)` in place of the method."""

    def changed(self, *arguments):
        return change(getattr(type(part), method))(self, *arguments)

    cls = type("Mutant", (type(part),), {method: changed})
    return cls(**{f.name: getattr(part, f.name) for f in dataclasses.fields(part)})


def result_off(original):
    return lambda *arguments: scaled(original(*arguments))


def argument_off(original):
    """The last argument 1 % too large: the slopes of the formula are off, not only its size."""
    return lambda *arguments: original(*arguments[:-1], OFF * arguments[-1])


def field_off(field):
    """One number of the dual box 1 % too large."""

    def change(original):
        def changed(*arguments):
            box = original(*arguments)
            return dataclasses.replace(box, **{field: OFF * getattr(box, field)})

        return changed

    return change


def differs(part, other, method, *arguments):
    """Whether the change can be seen at all: 1.01·0 and 1.01·∞ are not mutations."""
    results = [numbers(getattr(each, method)(*arguments)) for each in (part, other)]
    return not np.array_equal(*results)


def numbers(result):
    """All numbers of a result, as one vector."""
    if dataclasses.is_dataclass(result):
        result = tuple(vars(result).values())
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(part) for part in parts if part is not None])


def loss_mutants():
    methods = ["value", "gradient", "curvature", "hessian_times", "conjugate", "dual_domain"]
    methods += ["smallest", "inverse_link", "derivatives", "hessian_factors"]
    box = ["linear", "lower", "upper", "absolute", "quadratic"]
    for loss in test_losses.LOSSES:
        y, z = test_losses.sample(loss, np.random.default_rng(0))
        u = loss.gradient(y, z)
        arguments = {"hessian_times": (y, z, u), "conjugate": (y, u), "inverse_link": (z,)}
        arguments |= dict.fromkeys(("dual_domain", "smallest", "dual_box"), (y,))
        changes = [(method, "result", result_off) for method in methods]
        changes += [("conjugate", "argument", argument_off)]
        changes += [("dual_box", field, field_off(field)) for field in box]
        for method, what, change in changes:
            has = {"curvature": loss.has_curvature, "hessian_times": loss.has_curvature}
            has |= dict.fromkeys(("derivatives", "hessian_factors"), loss.has_curvature)
            has |= {"dual_box": loss.has_dual_box}
            has |= {"inverse_link": loss.task == "regression" or loss.has_probabilities}
            if not has.get(method, True):
                continue
            changed = mutant(loss, method, change)
            if differs(loss, changed, method, *arguments.get(method, (y, z))):
                yield pytest.param(changed, id=f"{loss!r}-{method}-{what}")


def penalty_mutants():
    for penalty in test_penalties.PENALTIES:
        rng = np.random.default_rng(0)
        # What is not convex leaves 0 late, and with zeros alone nothing can be seen.
        w = penalty.prox((1 if penalty.is_convex else 3) * rng.normal(size=SHAPES[0]), 0.5)
        v = test_penalties.without_free(penalty, rng.normal(size=SHAPES[0]))
        arguments = {"value": (w,), "prox": (w, 0.5), "subdifferential_distance": (w, v)}
        if test_penalties.has_conjugate(penalty):
            small = penalty.feasible_scales(v)[0] * v
            arguments |= {"conjugate": (small,), "feasible_scales": (v,)}
        if penalty.has_curvature:
            arguments |= {"gradient": (w,), "hessian_times": (w, v), "hessian": (w,)}
        for method, given in arguments.items():
            changes = {"result": result_off, "argument": argument_off}
            if method in ("feasible_scales", "gradient"):
                # Another choice of scales would be as good, and the gradient of a norm the same.
                del changes["argument"]
            for what, change in changes.items():
                changed = mutant(penalty, method, change)
                if differs(penalty, changed, method, *given):
                    yield pytest.param(changed, id=f"{penalty!r}-{method}-{what}")


@pytest.mark.parametrize("loss", list(loss_mutants()))
def test_a_loss_with_one_formula_off_by_one_percent_is_caught(loss):
    with pytest.raises(AssertionError):
        for seed in range(3):
            for check in test_losses.CHECKS:
                check(loss, np.random.default_rng(seed))


@pytest.mark.parametrize("penalty", list(penalty_mutants()))
def test_a_penalty_with_one_formula_off_by_one_percent_is_caught(penalty):
    with pytest.raises(AssertionError):
        for seed in range(3):
            for shape in SHAPES:
                for check in test_penalties.CHECKS:
                    check(penalty, shape, np.random.default_rng(seed))


def test_every_part_has_mutants():
    """The lists above were not emptied by what they leave out."""
    ids = [mutation.id for mutation in (*loss_mutants(), *penalty_mutants())]
    parts = [*test_losses.LOSSES, *test_penalties.PENALTIES]
    assert all(any(name.startswith(repr(part)) for name in ids) for part in parts)
    assert len(ids) > 250
