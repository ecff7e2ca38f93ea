package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"retort/orchestrator/triton"
)

// Defaults are the settings of a model's answers to requests that leave them out, as its authors recommend them. A
// setting that is nil is left to the engine.
type Defaults struct {
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              *float64 `json:"top_p,omitempty"`
	TopK              *int     `json:"top_k,omitempty"`
	MinP              *float64 `json:"min_p,omitempty"`
	RepetitionPenalty *float64 `json:"repetition_penalty,omitempty"`
}

// ReadDefaults reads the parameter default_sampling, a JSON object.
func ReadDefaults(r *triton.EntryReader) (d Defaults) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(r.Text("default_sampling", "{}"))))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		r.Check(fmt.Errorf("parameter default_sampling must be a JSON object with any of temperature, top_p, top_k, "+
			"min_p and repetition_penalty: %w", err))
	}
	return d
}

// Fill returns the settings with defaults for those that are nil.
func (d Defaults) Fill(s Sampling) Sampling {
	s.Temperature = cmp.Or(s.Temperature, d.Temperature)
	s.TopP = cmp.Or(s.TopP, d.TopP)
	s.TopK = cmp.Or(s.TopK, d.TopK)
	s.MinP = cmp.Or(s.MinP, d.MinP)
	s.RepetitionPenalty = cmp.Or(s.RepetitionPenalty, d.RepetitionPenalty)
	return s
}
