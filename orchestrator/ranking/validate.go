package ranking

import "retort/orchestrator/fault"

// Validate checks what needs no model to be known.
func (r *Request) Validate() error {
	problems := []*fault.Error{
		fault.Text(r.Model, "model"),
		fault.Text(r.Query.Text, "query", "text"),
		fault.Items(len(r.Passages), 1, len(r.Passages)+1, "passages"),
	}
	for i, p := range r.Passages {
		problems = append(problems, fault.Text(p.Text, "passages", i, "text"))
	}
	return fault.Join(problems...)
}
