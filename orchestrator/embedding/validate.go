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
	problems.AddEach(len(r.Input.Texts), func(i int) *fault.Error { return fault.Text(r.Input.Texts[i], "input", i) })
	return problems.Err()
}

// Heavy reports whether a request may occupy a model for long: gateway.Heavy.
func (r *Request) Heavy() bool { return r.Input.Len() > encoder.LightRows }
