package bind

import (
	"slices"

	"retort/orchestrator/fault"
)

// Detail is one problem of a body in the form of pydantic 2, which several of the published services answer with.
type Detail struct {
	Type  string         `json:"type"`
	Loc   []any          `json:"loc"`
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// DetailOf returns f as a Detail. A fault without a rule is a value error.
func DetailOf(f *fault.Error) Detail {
	rule := f.Rule
	if rule == "" {
		rule = "value_error"
	}
	return Detail{Type: rule, Loc: append([]any{"body"}, f.Path...), Msg: f.Message, Input: f.Input, Ctx: f.Limits}
}

// DetailsOf returns every problem of f as a Detail.
func DetailsOf(f *fault.Error) []Detail {
	problems := f.All()
	details := make([]Detail, len(problems))
	for i, problem := range problems {
		details[i] = DetailOf(problem)
	}
	return details
}

// Merge joins the problems that JSON has found and those of the request's own checks, without nils. A member that JSON
// has reported is not reported twice, and nothing is added for a body that is not JSON.
func Merge(jsonErr error, checks []*fault.Error) error {
	f := fault.As(jsonErr)
	var reported []*fault.Error
	if f != nil {
		if f.Rule == "json_invalid" {
			return jsonErr
		}
		reported = f.All()
	}
	problems := []*fault.Error{f}
	for _, check := range checks {
		sameMember := func(other *fault.Error) bool { return other.Field() == check.Field() }
		if check != nil && !slices.ContainsFunc(reported, sameMember) {
			problems = append(problems, check)
		}
	}
	return fault.Join(problems...)
}
