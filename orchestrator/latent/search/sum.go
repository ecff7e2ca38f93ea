package search

import (
	"context"
	"math"

	"retort/chem"
)

// Sum is the objective that adds up weighted terms. It has at least one.
type Sum []Term

// Term is a property with a weight and, where Min, Max or both are given, a window of desired values.
type Term struct {
	Property Property
	Weight   float64 // not 0
	Min, Max *float64
}

// windowUnit is the unit of a term with a window, whose values run from 0 to 1.
const windowUnit = 0.1

// Facts are those of all terms.
func (s Sum) Facts() (facts chem.Facts) {
	for _, t := range s {
		facts |= t.Property.Facts
	}
	return facts
}

// Unit is the largest of the weighted units of the terms.
func (s Sum) Unit() (largest float64) {
	for _, t := range s {
		unit := t.Property.Unit
		if t.windowed() {
			unit = windowUnit
		}
		largest = max(largest, math.Abs(t.Weight)*unit)
	}
	return largest
}

// Score gives the sum of the weighted terms for each molecule. The error is that of the first property that failed.
func (s Sum) Score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	scores := make([]float64, len(molecules))
	for _, t := range s {
		values, err := t.Property.Values(ctx, molecules)
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			scores[i] += t.Weight * t.desired(value)
		}
	}
	return scores, nil
}

func (t *Term) windowed() bool { return t.Min != nil || t.Max != nil }

// desired is what a value of the property counts for: itself without a window; with one 1 inside, and 1 / (1 + distance
// / unit) outside.
func (t *Term) desired(value float64) float64 {
	if !t.windowed() {
		return value
	}
	distance := 0.0
	if t.Min != nil {
		distance = math.Max(distance, *t.Min-value)
	}
	if t.Max != nil {
		distance = math.Max(distance, value-*t.Max)
	}
	return 1 / (1 + distance/t.Property.Unit)
}
