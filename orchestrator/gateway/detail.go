package gateway

import "retort/orchestrator/fault"

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

// DetailsOf returns every problem that f carries.
func DetailsOf(f *fault.Error) []Detail {
	all := f.All()
	details := make([]Detail, len(all))
	for i, one := range all {
		details[i] = DetailOf(one)
	}
	return details
}
