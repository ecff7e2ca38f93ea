package cmaes

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
)

func TestParametersEqualPyPICma(t *testing.T) {
	var golden struct {
		Cases []struct {
			N, Lambda                     int
			Weights                       []float64
			Mueff, Cs, Damps, Cc, C1, Cmu float64
			DampTwoPoint                  float64 `json:"damp_two_point"`
		}
	}
	text, err := os.ReadFile("testdata/parameters.json") // made by scripts/golden/cmaes.py
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range golden.Cases {
		p := newParameters(c.N, c.Lambda)
		same := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
				t.Errorf("n %d, lambda %d: %s is %v, want %v", c.N, c.Lambda, what, got, want)
			}
		}
		same("mueff", p.mueff, c.Mueff)
		same("cs", p.cs, c.Cs)
		same("damps", p.damps, c.Damps)
		same("cc", p.cc, c.Cc)
		same("c1", p.c1, c.C1)
		same("cmu", p.cmu, c.Cmu)
		same("two-point damping", twoPointDamping(c.N, c.Lambda), c.DampTwoPoint)
		for i, w := range c.Weights {
			same("weight "+strconv.Itoa(i), p.weights[i], w)
		}
	}
}
