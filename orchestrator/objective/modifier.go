package objective

import (
	"cmp"
	"fmt"
	"math"
)

// Modifier turns a value x of a term into what it counts for. The types and their formulas are GuacaMol's, but for
// window:
//
//	gaussian      exp(-((x - mu) / sigma)² / 2)
//	max_gaussian  1 from mu on, the Gaussian below: as much as mu is wanted
//	min_gaussian  1 up to mu, the Gaussian above: as little as mu is wanted
//	clipped       the line from (lower, low) to (upper, high), cut at low and high
//	threshold     min(x, threshold) / threshold
//	linear        slope · x + intercept
//	window        1 from min to max, outside 1 / (1 + distance / unit)
type Modifier struct {
	Type string `json:"type"`

	Mu    float64 `json:"mu"`
	Sigma float64 `json:"sigma"` // above 0

	Lower float64  `json:"lower"` // default 0
	Upper *float64 `json:"upper"` // below lower where little is wanted
	Low   float64  `json:"low"`   // default 0
	High  *float64 `json:"high"`  // default 1; above low

	Threshold float64 `json:"threshold"` // above 0

	Slope     *float64 `json:"slope"` // default 1
	Intercept float64  `json:"intercept"`

	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	Unit *float64 `json:"unit"` // above 0; default that of the term
}

// check says what is wrong with a modifier.
func (m *Modifier) check() error {
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
		return checkFactor("unit", or(m.Unit, modifiedUnit))
	default:
		return fmt.Errorf("type is one of gaussian, max_gaussian, min_gaussian, clipped, threshold, linear and window, not %q", m.Type)
	}
}

func (m *Modifier) high() float64 { return or(m.High, 1) }

func (m *Modifier) slope() float64 { return or(m.Slope, 1) }

func or(value *float64, otherwise float64) float64 {
	if value == nil {
		return otherwise
	}
	return *value
}

// of is what a value counts for; unit is the term's own. NaN stays NaN.
func (m *Modifier) of(x, unit float64) float64 {
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
		return window(x, m.Min, m.Max, or(m.Unit, unit))
	}
	return math.NaN()
}

// unit is a difference of modified values that is a step worth taking, where that of the term itself is given.
func (m *Modifier) unit(own float64) float64 {
	if m.Type == "linear" {
		return math.Abs(m.slope()) * own
	}
	return modifiedUnit
}

// modifiedUnit is the unit of values that run from 0 to 1.
const modifiedUnit = 0.1

func gaussian(x, mu, sigma float64) float64 {
	z := (x - mu) / sigma
	return math.Exp(-0.5 * z * z)
}

// window is 1 from min to max, and 1 / (1 + distance / unit) outside.
func window(x float64, least, most *float64, unit float64) float64 {
	distance := 0.0
	if least != nil {
		distance = math.Max(distance, *least-x)
	}
	if most != nil {
		distance = math.Max(distance, x-*most)
	}
	return 1 / (1 + distance/unit)
}
