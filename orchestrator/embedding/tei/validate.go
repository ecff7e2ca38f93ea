package tei

import (
	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
)

// Validate checks what does not depend on the model.
func (r *Request) Validate() error {
	var problems fault.Problems
	if r.Model != nil {
		problems.Add(fault.Text(*r.Model, "model"))
	}
	if r.Dimensions != nil {
		problems.Add(fault.AtLeast(*r.Dimensions, 1, "dimensions"))
	}
	problems.Add(fault.NotEmpty(len(r.Inputs), "inputs"))
	problems.AddEach(len(r.Inputs), func(i int) *fault.Error {
		if r.Inputs[i].IDs != nil {
			return fault.NotEmpty(len(r.Inputs[i].IDs), "inputs", i)
		}
		return fault.Text(r.Inputs[i].Text, "inputs", i)
	})
	return problems.Err()
}

// Validate checks what does not depend on the model.
func (r *SimilarityRequest) Validate() error {
	var problems fault.Problems
	if r.Model != nil {
		problems.Add(fault.Text(*r.Model, "model"))
	}
	problems.Add(
		fault.Text(r.Inputs.SourceSentence, "inputs", "source_sentence"),
		fault.NotEmpty(len(r.Inputs.Sentences), "inputs", "sentences"),
	)
	problems.AddEach(len(r.Inputs.Sentences), func(i int) *fault.Error {
		return fault.Text(r.Inputs.Sentences[i], "inputs", "sentences", i)
	})
	return problems.Err()
}

// Heavy reports whether a request may occupy a model for long: gateway.Heavy.
func (r *Request) Heavy() bool { return len(r.Inputs) > encoder.LightRows }

// Heavy reports whether a request may occupy a model for long: gateway.Heavy.
func (r *SimilarityRequest) Heavy() bool { return len(r.Inputs.Sentences) > encoder.LightRows }
