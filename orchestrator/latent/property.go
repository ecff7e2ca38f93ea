package latent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"retort/orchestrator/wire"
)

// Property is what POST /generate optimises: a name, or beyond the published API one term or a list of terms, whose
// weighted values are added up.
type Property struct{ Terms []Term }

// Term is a property with a weight. With Min, Max or both its value is 1 within that window and 1 / (1 + distance /
// unit) outside.
type Term struct {
	Name   string   `json:"name"`
	Weight float64  `json:"weight"` // default 1
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
}

// maxTerms bounds a sum.
const maxTerms = 16

// UnmarshalJSON decodes "QED", {"name": "MW", "max": 400} or a list of either.
func (p *Property) UnmarshalJSON(data []byte) error {
	p.Terms = nil
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		return p.add(data)
	}
	items, count, err := firstItems(data, maxTerms)
	if err != nil {
		return err
	}
	if count == 0 || count > maxTerms {
		return mismatch("Value error, a sum has 1 to %d terms, not %d", maxTerms, count)
	}
	for i, item := range items {
		if err := p.add(item); err != nil {
			m := *err.(*wire.Mismatch)
			m.Path = append([]any{i}, m.Path...)
			return &m
		}
	}
	return nil
}

// firstItems gives the first items of a JSON array, at most limit of them, and the number of all: an array of millions
// takes no memory.
func firstItems(array []byte, limit int) (items []json.RawMessage, count int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(array))
	if _, err := decoder.Token(); err != nil { // the opening bracket
		return nil, 0, err
	}
	for ; decoder.More(); count++ {
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return nil, count, err
		}
		if count < limit {
			items = append(items, item)
		}
	}
	return items, count, nil
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
