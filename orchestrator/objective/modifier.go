package objective

import (
	"cmp"
	"fmt"
	"math"
)

// modifier is a desirability function: it maps the value x of a term to its desirability. The types and formulas are
// those of GuacaMol, except window:
//
//	gaussian      exp(-((x - mu) / sigma)² / 2)
//	max_gaussian  1 from mu on, the Gaussian below; to maximise
//	min_gaussian  1 up to mu, the Gaussian above; to minimise
//	clipped       the line from (lower, low) to (upper, high), clipped to low and high
//	threshold     min(x, threshold) / threshold
//	linear        slope · x + intercept
//	window        1 from min to max, outside 1 / (1 + distance / unit)
type modifier struct {
	Type string `json:"type"`

	Mu    float64 `json:"mu"`
	Sigma float64 `json:"sigma"` // above 0

	Lower float64  `json:"lower"` // default 0
	Upper *float64 `json:"upper"` // below lower to minimise
	Low   float64  `json:"low"`   // default 0
	High  *float64 `json:"high"`  // default 1; above low

	Threshold float64 `json:"threshold"` // above 0

	Slope     *float64 `json:"slope"` // default 1
	Intercept float64  `json:"intercept"`

	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	Unit *float64 `json:"unit"` // above 0; default the unit of the term
}

// check validates a modifier.
func (m *modifier) check() error {
	switch m.Type {
	case "gaussian", "max_gaussian", "min_gaussian":
		if !(m.Sigma > 0) {
			return fmt.Errorf("a %s needs a sigma above 0", m.Type)
		}
		return checkFactor("sigma", m.Sigma)
	case "clipped":
		switch {
		case m.Upper == nil:
			return fmt.Errorf("clipped needs upper")
		case *m.Upper == m.Lower:
			return fmt.Errorf("upper and lower are both %v", m.Lower)
		case !(m.high() > m.Low):
			return fmt.Errorf("high %v is not above low %v", m.high(), m.Low)
		}
		return cmp.Or(checkFactor("upper - lower", *m.Upper-m.Lower), checkFactor("high - low", m.high()-m.Low))
	case "threshold":
		if !(m.Threshold > 0) {
			return fmt.Errorf("a threshold needs to be above 0")
		}
		return checkFactor("threshold", m.Threshold)
	case "linear":
		if m.Slope != nil && *m.Slope == 0 {
			return fmt.Errorf("slope should not be 0")
		}
		return checkFactor("slope", m.slope())
	case "window":
		switch {
		case m.Min == nil && m.Max == nil:
			return fmt.Errorf("a window needs min, max or both")
		case m.Min != nil && m.Max != nil && *m.Min > *m.Max:
			return fmt.Errorf("min %v is above max %v", *m.Min, *m.Max)
		case m.Unit != nil && !(*m.Unit > 0):
			return fmt.Errorf("the unit of a window is above 0")
		}
		return checkFactor("unit", valueOr(m.Unit, modifiedUnit))
	default:
		return fmt.Errorf("type is one of gaussian, max_gaussian, min_gaussian, clipped, threshold, linear and "+
			"window, not %q", m.Type)
	}
}

func (m *modifier) high() float64 { return valueOr(m.High, 1) }

func (m *modifier) slope() float64 { return valueOr(m.Slope, 1) }

func valueOr(value *float64, fallback float64) float64 {
	if value == nil {
		return fallback
	}
	return *value
}

// apply returns the desirability of a value x of a term with the given unit. NaN stays NaN.
func (m *modifier) apply(x, unit float64) float64 {
	switch m.Type {
	case "gaussian":
		return gaussian(x, m.Mu, m.Sigma)
	case "max_gaussian":
		return gaussian(math.Min(x, m.Mu), m.Mu, m.Sigma)
	case "min_gaussian":
		return gaussian(math.Max(x, m.Mu), m.Mu, m.Sigma)
	case "clipped":
		slope := (m.high() - m.Low) / (*m.Upper - m.Lower)
		return math.Min(math.Max(slope*x+(m.high()-slope**m.Upper), m.Low), m.high())
	case "threshold":
		return math.Min(x, m.Threshold) / m.Threshold
	case "linear":
		return m.slope()*x + m.Intercept
	case "window":
		return window(x, m.Min, m.Max, valueOr(m.Unit, unit))
	}
	return math.NaN()
}

// unit returns the unit of the desirability of a term with the given unit.
func (m *modifier) unit(term float64) float64 {
	if m.Type == "linear" {
		return math.Abs(m.slope()) * term
	}
	return modifiedUnit
}

// modifiedUnit is the unit of desirabilities between 0 and 1.
const modifiedUnit = 0.1

func gaussian(x, mu, sigma float64) float64 {
	z := (x - mu) / sigma
	return math.Exp(-0.5 * z * z)
}

// window is 1 from lower to upper, and 1 / (1 + distance / unit) outside. Either bound may be nil.
func window(x float64, lower, upper *float64, unit float64) float64 {
	distance := 0.0
	if lower != nil {
		distance = math.Max(distance, *lower-x)
	}
	if upper != nil {
		distance = math.Max(distance, x-*upper)
	}
	return 1 / (1 + distance/unit)
}
