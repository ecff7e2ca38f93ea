package modelcheck

import (
	"context"
	"fmt"
	"math"

	"retort/orchestrator/oracle"
)

// maxAlone bounds the samples that are also sent alone.
const maxAlone = 8

// maxDeviation is the largest difference between two answers to one sample, relative to the largest absolute number of
// all answers: rounding, also of int8 models.
const maxDeviation = 1e-3

// numbers calls a model that answers numbers: one row for each of the samples, which are indices.
type numbers func(ctx context.Context, samples []int) ([][]float32, error)

// texts is numbers for a model that answers texts.
type texts func(ctx context.Context, samples []int) ([]string, error)

// indices returns 0 to count-1.
func indices(count int) []int {
	all := make([]int, count)
	for i := range all {
		all[i] = i
	}
	return all
}

// checkNumbers calls a model with all samples, again, and with each of the first samples alone. It returns the first
// answers, nil if the call failed.
func (c *check) checkNumbers(ctx context.Context, call string, count int, ask numbers) [][]float32 {
	all, err := ask(ctx, indices(count))
	if !c.called(call, err, propertyShapes) {
		return nil
	}
	if c.API != oracle.API { // whose NaN means no score
		c.pass(call+": "+propertyFinite, bounds[propertyFinite], "yes")
	}
	bound := fmt.Sprintf("differ by at most %g of the largest number", maxDeviation)
	again, err := ask(ctx, indices(count))
	if err != nil {
		c.called(call+" again", err)
		return nil
	}
	largest := 0.0
	for _, row := range all {
		for _, x := range row {
			if a := math.Abs(float64(x)); a > largest && !math.IsInf(a, 0) {
				largest = a
			}
		}
	}
	repeated := deviation(all, again) / max(largest, math.SmallestNonzeroFloat64)
	c.require(repeated <= maxDeviation, call+": repeatable", bound, "%.1e", repeated)
	worst := 0.0
	for i := range min(count, maxAlone) {
		alone, err := ask(ctx, []int{i})
		if err != nil {
			c.called(call+" of one sample", err)
			return nil
		}
		worst = max(worst, deviation(all[i:i+1], alone))
	}
	worst /= max(largest, math.SmallestNonzeroFloat64)
	c.require(worst <= maxDeviation, call+": alone as in a batch", bound, "%.1e", worst)
	return all
}

// deviation returns the largest difference of two matrices. Two NaN are equal.
func deviation(a, b [][]float32) float64 {
	worst := 0.0
	for i := range a {
		for k := range a[i] {
			x, y := float64(a[i][k]), float64(b[i][k])
			if x == y || math.IsNaN(x) && math.IsNaN(y) {
				continue
			}
			d := math.Abs(x - y)
			if math.IsNaN(d) {
				d = math.Inf(1)
			}
			worst = max(worst, d)
		}
	}
	return worst
}

// checkTexts is checkNumbers for texts, which must be equal.
func (c *check) checkTexts(ctx context.Context, call string, count int, ask texts) []string {
	all, err := ask(ctx, indices(count))
	if !c.called(call, err, propertyTokens) {
		return nil
	}
	again, err := ask(ctx, indices(count))
	if err != nil {
		c.called(call+" again", err)
		return nil
	}
	c.requireEqual(call+": repeatable", all, again)
	alone := make([]string, min(count, maxAlone))
	for i := range alone {
		text, err := ask(ctx, []int{i})
		if err != nil {
			c.called(call+" of one sample", err)
			return nil
		}
		alone[i] = text[0]
	}
	c.requireEqual(call+": alone as in a batch", all[:len(alone)], alone)
	return all
}

// requireEqual adds a row for two lists that must be equal.
func (c *check) requireEqual(property string, first, second []string) {
	equal := 0
	example := ""
	for i := range first {
		if first[i] == second[i] {
			equal++
		} else if example == "" {
			example = fmt.Sprintf("; %q became %q", first[i], second[i])
		}
	}
	c.require(equal == len(first), property, "the same texts", "%d of %d%s", equal, len(first), example)
}
