package modelcheck

import (
	"errors"
	"fmt"
	"slices"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// The results of a row.
const (
	Passed = "pass"
	Failed = "fail"
	Info   = "info"
)

// Report is the result of a check.
type Report struct {
	Entry string `json:"entry"`
	API   string `json:"api"`
	Model string `json:"model"` // public id
	OK    bool   `json:"passed"`
	Rows  []Row  `json:"rows"`
}

// Row is one property.
type Row struct {
	Property string `json:"property"`
	Result   string `json:"result"` // Passed, Failed or Info
	Value    string `json:"value"`  // what was found
	Bound    string `json:"bound"`  // what is required; "" for Info
}

// pass adds a row that passed.
func (r *Report) pass(property, bound, format string, values ...any) {
	r.Rows = append(r.Rows, Row{property, Passed, fmt.Sprintf(format, values...), bound})
}

// require adds a row and reports whether ok.
func (r *Report) require(ok bool, property, bound, format string, values ...any) bool {
	r.pass(property, bound, format, values...)
	if !ok {
		r.Rows[len(r.Rows)-1].Result = Failed
	}
	return ok
}

// inform adds a row that cannot fail.
func (r *Report) inform(property, format string, values ...any) {
	r.Rows = append(r.Rows, Row{property, Info, fmt.Sprintf(format, values...), ""})
}

// The properties that an error of a call can contradict.
const (
	propertyAnswers = "answers"
	propertyShapes  = "shapes"
	propertyFinite  = "finite numbers"
	propertyTokens  = "token ids"
)

// ruleProperties are the properties that an answer contradicts, by the rule of its error.
var ruleProperties = map[string]string{
	triton.RuleShape:  propertyShapes,
	triton.RuleFinite: propertyFinite,
	triton.RuleTokens: propertyTokens,
}

// bounds are what the properties of a call require.
var bounds = map[string]string{
	propertyAnswers: "no error",
	propertyShapes:  "as config.pbtxt declares",
	propertyFinite:  "no NaN, no infinity",
	propertyTokens:  "in the vocabulary; given tokens unchanged",
}

// called adds the rows of a call that ended with err, which may be nil, and reports whether it succeeded. properties
// are those that a successful call proves, beyond propertyAnswers.
func (r *Report) called(call string, err error, properties ...string) bool {
	properties = append([]string{propertyAnswers}, properties...)
	if err == nil {
		for _, property := range properties {
			r.pass(call+": "+property, bounds[property], "yes")
		}
		return true
	}
	property := propertyAnswers
	var f *fault.Error
	if errors.As(err, &f) && ruleProperties[f.Rule] != "" {
		property = ruleProperties[f.Rule]
	}
	return r.require(false, call+": "+property, bounds[property], "%v", err)
}

// end sets OK.
func (r *Report) end() {
	r.OK = !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Result == Failed })
}
