"""Golden values for the tests of misrule-statistics.

    python3 -m venv venv && venv/bin/pip install scipy lifelines statsmodels
    venv/bin/python fuzzer/statistics/tests/golden/make.py

writes golden.json beside this file. Where no package has the value (standard error of a restricted mean, Newcombe's
interval), it is computed here from the published formula with other means than the crate uses.
"""

import json
import math
import pathlib
from importlib.metadata import version

import numpy as np
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test, sample_size_necessary_under_cph
from lifelines.utils import median_survival_times, qth_survival_time, restricted_mean_survival_time
from scipy import optimize, special, stats
from statsmodels.stats.multitest import multipletests

MASK = (1 << 64) - 1


def group(seed, n, scale, budget, rounded=None):
    """Exponential times, censored at the budget; `rounded` digits make ties."""
    drawn = np.random.default_rng(seed).exponential(scale, n)
    if rounded is not None:
        drawn = np.round(drawn, rounded)
    return [[float(min(t, budget)), bool(t < budget)] for t in drawn]


def staggered(seed, n):
    """Times that are censored at different moments."""
    rng = np.random.default_rng(seed)
    times, ends = rng.exponential(3.0, n), rng.uniform(0.5, 8.0, n)
    return [[float(min(t, e)), bool(t <= e)] for t, e in zip(times, ends)]


def finite(value):
    return None if math.isinf(value) else float(value)


def curve(times):
    t, e = [x for x, _ in times], [x for _, x in times]
    fitted = KaplanMeierFitter().fit(t, e)
    band = fitted.confidence_interval_survival_function_
    points = []
    for time in sorted({x for x, found in times if found}):
        survival = float(fitted.survival_function_.loc[time].iloc[0])
        low, high = (float(x) for x in band.loc[time])
        points.append([time, survival, low, high] if survival > 1e-12 else [time, 0.0, None, None])
    return fitted, points


def restricted_error(times, horizon):
    """Greenwood's standard error of the area below the curve, by numeric sums over the event table."""
    t = np.array([x for x, _ in times])
    e = np.array([x for _, x in times])
    events = np.unique(t[e & (t < horizon)])
    risk = np.array([(t >= x).sum() for x in events], dtype=float)
    died = np.array([((t == x) & e).sum() for x in events], dtype=float)
    survival = np.cumprod(1 - died / risk)
    widths = np.diff(np.append(events, horizon))
    behind = np.array([(survival[i:] * widths[i:]).sum() for i in range(len(events))])
    safe = risk > died
    terms = np.where(safe, behind**2 * died / (risk * np.where(safe, risk - died, 1)), 0)
    return float(np.sqrt(terms.sum()))


def newcombe(a, m, n):
    z = stats.norm.ppf(0.975)
    half = (m + n) / 2 - 1

    def error(x):
        return math.sqrt(x * (1 - x) * (1 + half * ((1 - x) / (2 - x) + x / (1 + x))) / (m * n))

    low = 0.0 if a == 0 else optimize.brentq(lambda x: a - x - z * error(x), 0, a, xtol=1e-15)
    high = 1.0 if a == 1 else optimize.brentq(lambda x: x - a - z * error(x), a, 1, xtol=1e-15)
    return [low, high]


def ranked(times, budget):
    """Times for a rank test: all censored ones tie beyond everything."""
    return [t if found else budget * 10 for t, found in times]


class SplitMix:
    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, bound):
        return self.bits() * bound >> 64


def bootstrap_mean(values, resamples, seed):
    generator = SplitMix(seed)
    means = []
    for _ in range(resamples):
        drawn = [values[generator.below(len(values))] for _ in values]
        means.append(sum(drawn) / len(drawn))
    return [float(x) for x in np.percentile(means, [2.5, 97.5])]


def main():
    groups = {
        "all-found": group(1, 20, 1.0, 1e9),
        "slower": group(2, 20, 3.0, 1e9),
        "censored": group(3, 20, 4.0, 5.0),
        "mostly-censored": group(4, 30, 60.0, 20.0),
        "ties": group(5, 25, 4.0, 9.0, rounded=0),
        "staggered": staggered(6, 40),
        "small": group(7, 5, 2.0, 3.0),
        "even": [[float(x), True] for x in range(1, 15)],
    }
    horizons = {"all-found": 2.0, "slower": 4.0, "censored": 5.0, "mostly-censored": 20.0, "ties": 9.0,
                "staggered": 4.0, "small": 3.0, "even": 20.0}
    curves = []
    for name, times in groups.items():
        fitted, points = curve(times)
        # lifelines fills the band with 1 where nothing survives; it is from 0 to the upper end before.
        band = fitted.confidence_interval_survival_function_.copy()
        if fitted.survival_function_.iloc[-1, 0] < 1e-12:
            band.iloc[-1] = [0.0, band.iloc[-2, 1]]
        ends = median_survival_times(band)
        horizon = horizons[name]
        curves.append({
            "name": name, "times": times, "points": points,
            # Products that are one half on paper end a little above or below it; rounding mends that.
            "median": finite(qth_survival_time(0.5, fitted.survival_function_.round(12))),
            "median_interval": [finite(x) for x in np.ravel(ends)],
            "horizon": horizon,
            "restricted_mean": float(restricted_mean_survival_time(fitted, t=horizon)),
            "restricted_error": restricted_error(times, horizon),
        })
    pairs = []
    for one, other, budget in [("all-found", "slower", 1e9), ("slower", "censored", None), ("ties", "even", None),
                               ("small", "censored", None), ("mostly-censored", "staggered", None),
                               ("all-found", "mostly-censored", 1e9)]:
        a, b = groups[one], groups[other]
        test = logrank_test([x for x, _ in a], [x for x, _ in b], [x for _, x in a], [x for _, x in b])
        far = 1e12
        u = stats.mannwhitneyu(ranked(b, far), ranked(a, far), method="asymptotic").statistic
        effect = float(u) / (len(a) * len(b))
        pairs.append({"first": one, "second": other, "statistic": float(test.test_statistic),
                      "p": float(test.p_value), "a12": effect, "interval": newcombe(effect, len(a), len(b))})
    values = [0.001, 0.01, 0.04, 0.03, 0.005, 0.9, 0.5, 0.03]
    drawn = [t for t, _ in groups["slower"]]
    golden = {
        "made_with": {name: version(name) for name in ("numpy", "scipy", "lifelines", "statsmodels")},
        "wilson": [[k, n, *map(float, stats.binomtest(k, n).proportion_ci(method="wilson"))]
                   for k, n in [(0, 10), (1, 10), (5, 10), (10, 10), (7, 20), (19, 20), (3, 1000), (1, 1)]],
        "chi_square": [[x, float(stats.chi2.sf(x, 1))]
                       for x in [0.0, 1e-6, 0.1, 1.0, 3.841458820694124, 7.9, 8.1, 20.0, 60.0, 300.0]],
        "erfc": [[x, float(special.erfc(x))] for x in [0.0, 0.3, 1.0, 1.999, 2.0, 2.5, 5.0, 20.0]],
        "curves": curves,
        "pairs": pairs,
        "holm": {"values": values, "adjusted": [float(x) for x in multipletests(values, method="holm")[1]]},
        "bootstrap": {"values": drawn, "resamples": 1000, "seed": 7, "interval": bootstrap_mean(drawn, 1000, 7)},
        "power": [[ratio, one, other, level,
                   sample_size_necessary_under_cph(0.8, 1.0, one, other, ratio, alpha=level)[0]]
                  for ratio, one, other, level in [(2.0, 1.0, 1.0, 0.05), (1.5, 0.9, 0.7, 0.05), (0.5, 0.3, 0.5, 0.01),
                                                   (1.1, 1.0, 1.0, 0.05), (10.0, 1.0, 0.2, 0.005)]],
    }
    path = pathlib.Path(__file__).with_name("golden.json")
    path.write_text(json.dumps(golden, indent=1) + "\n")


main()
