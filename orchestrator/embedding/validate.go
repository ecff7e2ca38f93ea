package embedding

import "retort/orchestrator/fault"

// Validate checks what needs no model to be known.
func (r *Request) Validate() error {
	problems := []*fault.Error{
		fault.Text(r.Model, "model"),
		fault.Items(len(r.Input), 1, len(r.Input)+1, "input"),
	}
	if r.Dimensions != nil {
		problems = append(problems, fault.AtLeast(*r.Dimensions, 1, "dimensions"))
	}
	for i, text := range r.Input {
		problems = append(problems, fault.Text(text, "input", i))
	}
	return fault.Join(problems...)
}
