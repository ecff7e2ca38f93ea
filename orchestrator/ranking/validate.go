package ranking

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
	problems.Add(
		fault.Text(r.Query.Text, "query", "text"),
		fault.NotEmpty(len(r.Passages), "passages"),
	)
	problems.AddEach(len(r.Passages), func(i int) *fault.Error {
		return fault.Text(r.Passages[i].Text, "passages", i, "text")
	})
	return problems.Err()
}

// Validate checks what does not depend on the model.
func (h *HostedRequest) Validate() error {
	if h.TopK != nil {
		if f := fault.AtLeast(*h.TopK, 1, "top_k"); f != nil {
			return f
		}
	}
	return h.Request.Validate()
}

// Heavy reports whether a request may occupy a model for long: gateway.Heavy.
func (r *Request) Heavy() bool {
	rows := len(r.Passages)
	if r.Truncate == "CHUNK" {
		for _, passage := range r.Passages {
			rows += len(passage.Text) / encoder.RowBytes
		}
	}
	return rows > encoder.LightRows
}
