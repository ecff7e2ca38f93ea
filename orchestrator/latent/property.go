package latent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"retort/chem"
	"retort/orchestrator/wire"
)

// Property is what POST /generate optimises: a name, or beyond the published
// API one term or a list of terms, whose weighted sum counts.
type Property struct{ Terms []Term }

// Term is a property with a weight. With Min, Max or both it counts as 1
// within that window and as 1 / (1 + distance / unit) outside.
type Term struct {
	Name   string   `json:"name"`
	Weight float64  `json:"weight"` // default 1
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
}

// mostTerms bounds a sum.
const mostTerms = 16

// UnmarshalJSON decodes "QED", {"name": "MW", "max": 400} or a list of either.
func (p *Property) UnmarshalJSON(data []byte) error {
	p.Terms = nil
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		return p.add(data)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	if len(items) == 0 || len(items) > mostTerms {
		return mismatch("Value error, a sum has 1 to %d terms, not %d", mostTerms, len(items))
	}
	for i, item := range items {
		if err := p.add(bytes.TrimSpace(item)); err != nil {
			m := *err.(*wire.Mismatch)
			m.Path = append([]any{i}, m.Path...)
			return &m
		}
	}
	return nil
}

// add decodes one term. Its error is a *wire.Mismatch.
func (p *Property) add(data []byte) error {
	t := Term{Weight: 1}
	switch {
	case len(data) > 0 && data[0] == '"':
		if err := json.Unmarshal(data, &t.Name); err != nil {
			return wire.NotString.At()
		}
	case len(data) > 0 && data[0] == '{':
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&t); err != nil {
			return mismatch("Value error, a term has a name, and may have weight, min and max: %v", err)
		}
	default:
		return wire.NotString.At()
	}
	switch {
	case t.Weight == 0:
		return mismatch("Value error, weight should not be 0")
	case t.Min != nil && t.Max != nil && *t.Min > *t.Max:
		return mismatch("Value error, min %v is above max %v", *t.Min, *t.Max)
	}
	p.Terms = append(p.Terms, t)
	return nil
}

func mismatch(format string, args ...any) *wire.Mismatch {
	return &wire.Mismatch{Rule: "value_error", Message: fmt.Sprintf(format, args...)}
}

// property is one that the gateway computes itself. unit is a step worth
// taking: the scale on which a search weighs it against similarity.
type property struct {
	name  string
	facts chem.Facts
	unit  float64
	value func(*chem.Molecule) float64
}

// properties are the names that property_name knows beside the oracles. plogP
// is the normalised one: see [chem.Normalized].
var properties = []property{
	{"QED", chem.FactQED, 0.1, (*chem.Molecule).QED},
	{"plogP", chem.FactLogP | chem.FactSA, 1, func(m *chem.Molecule) float64 { return m.PenalizedLogP(chem.Normalized) }},
	{"SA", chem.FactSA, 1, (*chem.Molecule).SA},
	{"LogP", chem.FactLogP, 1, (*chem.Molecule).LogP},
	{"TPSA", chem.FactTPSA, 20, (*chem.Molecule).TPSA},
	{"MW", chem.FactFormula, 50, (*chem.Molecule).Weight},
}

// windowed is the unit of a term with a window, whose values are 0 to 1.
const windowed = 0.1

// desired is what a value counts for in a term.
func (t *Term) desired(value, unit float64) float64 {
	if t.Min == nil && t.Max == nil {
		return value
	}
	distance := 0.0
	if t.Min != nil {
		distance = math.Max(distance, *t.Min-value)
	}
	if t.Max != nil {
		distance = math.Max(distance, value-*t.Max)
	}
	return 1 / (1 + distance/unit)
}
