package objective

import (
	"fmt"
	"math"
	"slices"
)

// check validates a term as far as possible without the list of terms. The error is a *wire.Mismatch.
func (t *termSpec) check() error {
	switch {
	case t.Name == "" && len(t.Terms) == 0:
		return mismatch("Value error, a term needs a name, or terms of its own")
	case t.Name != "" && len(t.Terms) > 0:
		return mismatch("Value error, the term %q has terms of its own: a group has no name", t.Name)
	case t.Name != "" && t.Combine != "":
		return mismatch("Value error, combine belongs to a group: the term %q has no terms", t.Name)
	case t.Weight == 0:
		return mismatch("Value error, weight should not be 0")
	case math.Abs(t.Weight) < minFactor:
		return mismatch("Value error, %v", checkFactor("weight", t.Weight))
	case t.Min != nil && t.Max != nil && *t.Min > *t.Max:
		return mismatch("Value error, min %v is above max %v", *t.Min, *t.Max)
	case t.Name == synthesisSteps && t.Max != nil && *t.Max >= noRoute:
		return mismatch("Value error, the term %q has the max %v: routes have at most %d steps", t.Name, *t.Max, noRoute-1)
	case t.Modifier != nil && (t.Min != nil || t.Max != nil):
		return mismatch("Value error, min and max are a modifier of their own: leave them or the modifier out")
	case t.Modifier != nil:
		if err := t.Modifier.check(); err != nil {
			return under(mismatch("Value error, %v", err), "modifier")
		}
	}
	if len(t.Terms) == 0 {
		return nil
	}
	return t.groupSpec.check()
}

// check sets the default of Combine and validates the weights.
func (g *groupSpec) check() error {
	if g.Combine == "" {
		g.Combine = weightedSum
	}
	if !slices.Contains(combinations, g.Combine) {
		return under(mismatch("Value error, combine is one of %v, not %q", combinations, g.Combine), "combine")
	}
	sum := 0.0
	for i, t := range g.Terms {
		if g.Combine != weightedSum && t.Weight < 0 {
			m := mismatch("Value error, %s has the weight %v: weights of a mean are above 0", t.label(), t.Weight)
			return under(under(m, i), "terms")
		}
		sum += t.Weight
	}
	if g.Combine != weightedSum && !(sum > 0 && !math.IsInf(sum, 0)) {
		return under(mismatch("Value error, the weights sum to %v: a mean needs a sum above 0", sum), "terms")
	}
	return nil
}

// minFactor and maxFactor bound the absolute values of a score's factors and divisors. Beyond them, in three nested
// groups, differences of scores could underflow to 0 or scores overflow. A weight has no upper bound here, because Open
// refuses an objective whose unit is not finite.
const (
	minFactor = 1e-50
	maxFactor = 1e50
)

// checkFactor returns an error if the absolute value of a factor or divisor is out of bounds.
func checkFactor(name string, value float64) error {
	switch size := math.Abs(value); {
	case size < minFactor:
		return fmt.Errorf("%s %v is too small: its absolute value must be at least %v", name, value, minFactor)
	case size > maxFactor:
		return fmt.Errorf("%s %v is too large: its absolute value must be at most %v", name, value, maxFactor)
	}
	return nil
}

// label names a term in a message.
func (t *termSpec) label() string {
	if t.Name == "" {
		return "a group"
	}
	return fmt.Sprintf("the term %q", t.Name)
}
