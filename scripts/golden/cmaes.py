#!/usr/bin/env python3
"""Prints default strategy parameters of PyPI cma with a diagonal covariance, the reference of orchestrator/cmaes.

pip install numpy cma==4.5.0
python scripts/golden/cmaes.py > orchestrator/cmaes/testdata/parameters.json
"""

import json
import warnings

import cma

CASES = [(2, 6), (10, 0), (10, 100), (40, 0), (40, 400), (512, 0), (512, 50)]  # dimensions, population (0: default)


def parameters(n, population):
    options = {"CMA_diagonal": True, "verbose": -10, "seed": 1}
    if population:
        options["popsize"] = population
    es = cma.CMAEvolutionStrategy(n * [1.0], 1.0, options)
    csa = cma.sigma_adaptation.CMAAdaptSigmaCSA()
    csa.initialize(es)
    return {
        "n": n,
        "lambda": es.popsize,
        "weights": list(es.sp.weights),
        "mueff": es.sp.weights.mueff,
        "cs": csa.cs,
        "damps": csa.damps,
        "cc": es.sp.cc_sep,
        "c1": es.sp.c1_sep,
        "cmu": es.sp.cmu_sep,
        "damp_two_point": cma.sigma_adaptation.CMAAdaptSigmaTPA(dimension=n).initialize(es).sp.damp,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(
        json.dumps(
            {
                "command": "python scripts/golden/cmaes.py",
                "cma": cma.__version__.split()[0],
                "cases": [parameters(*case) for case in CASES],
            },
            indent=1,
        )
    )
