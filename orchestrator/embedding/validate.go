package embedding

import (
	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
)

// Validate checks what does not depend on the model.
func (r *Request) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(r.Model, "model"), fault.NotEmpty(r.Input.Len(), "input"))
	if r.Dimensions != nil {
		problems.Add(fault.AtLeast(*r.Dimensions, 1, "dimensions"))
	}
	problems.Add(r.checkModality())
	problems.AddEach(len(r.Input.Texts), func(i int) *fault.Error { return fault.Text(r.Input.Texts[i], "input", i) })
	return problems.Err()
}

// checkModality checks that all inputs are texts. A list has one modality for all inputs, or one for each.
func (r *Request) checkModality() *fault.Error {
	if r.Modality == nil {
		return nil
	}
	if n := len(r.Modality); n != 1 && n != r.Input.Len() {
		return fault.Field("value_error", nil, []any{"modality"},
			"Value error, %d modalities were given for %d inputs: one for all or one for each is expected", n, r.Input.Len())
	}
	for i, modality := range r.Modality {
		if modality != "text" {
			return fault.Field("value_error", modality, []any{"modality", i},
				"Value error, modality '%s' is not supported: the models here read text", fault.Clip(modality))
		}
	}
	return nil
}

// Heavy reports whether a request may occupy a model for long: gateway.Heavy.
func (r *Request) Heavy() bool {
	rows := r.Input.Len()
	if r.Truncate == "CHUNK" {
		for _, text := range r.Input.Texts {
			rows += len(text) / encoder.RowBytes
		}
		for _, tokens := range r.Input.Tokens {
			rows += len(tokens) / (encoder.RowBytes / 4)
		}
	}
	return rows > encoder.LightRows
}
