package bind

import (
	"errors"
	"strings"
	"testing"

	"retort/orchestrator/fault"
)

// TestMerge checks that each member is reported once: by JSON or by the request's own checks.
func TestMerge(t *testing.T) {
	small := fault.AtLeast(0, 1, "count")
	negative := fault.AtLeast(-1, 0, "noise")
	typeErrors := fault.Join(
		fault.Field("int_type", nil, []any{"count"}, "no integer"),
		fault.Field("bool_type", nil, []any{"unique"}, "no boolean"))
	for _, c := range []struct {
		jsonErr error
		checks  []*fault.Error
		want    string
	}{
		{nil, nil, ""},
		{nil, []*fault.Error{nil, nil}, ""},
		{nil, []*fault.Error{small, nil, negative}, "count noise"},
		{typeErrors, nil, "count unique"},
		{typeErrors, []*fault.Error{small, negative}, "count unique noise"},
		{fault.Field("json_invalid", nil, []any{"count"}, "broken"), []*fault.Error{negative}, "count"},
	} {
		err := Merge(c.jsonErr, c.checks)
		var fields []string
		var f *fault.Error
		if errors.As(err, &f) {
			for _, problem := range f.All() {
				fields = append(fields, problem.Field())
			}
		}
		if got := strings.Join(fields, " "); got != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%v with %v: %q, want %q", c.jsonErr, c.checks, got, c.want)
		}
	}
}
