package embedding

import "retort/orchestrator/fault"

// Validate checks what needs no model to be known.
func (r *Request) Validate() error {
	problems := []*fault.Error{
		fault.OneOf(r.Truncate, []string{"NONE", "START", "END"}, "truncate"),
		fault.OneOf(r.EncodingFormat, []string{"float", "base64"}, "encoding_format"),
		fault.Text(r.Model, "model"),
		fault.Items(len(r.Input), 1, len(r.Input)+1, "input"),
	}
	if r.InputType != nil {
		problems = append(problems, fault.OneOf(*r.InputType, modes, "input_type"))
	}
	if r.Dimensions != nil {
		problems = append(problems, fault.AtLeast(*r.Dimensions, 1, "dimensions"))
	}
	for i, text := range r.Input {
		problems = append(problems, fault.Text(text, "input", i))
	}
	return fault.Join(problems...)
}

// modes of a text, and the suffixes of a model's name that stand for them.
var modes = []string{"query", "passage"}
