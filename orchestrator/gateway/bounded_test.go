package gateway

import (
	"errors"
	"strings"
	"testing"

	"retort/orchestrator/fault"
)

// TestWithBounds wants each member judged once: for what it is, or for its bounds.
func TestWithBounds(t *testing.T) {
	small := fault.AtLeast(0, 1, "count")
	negative := fault.AtLeast(-1, 0, "noise")
	unfit := fault.Join(fault.Field("int_type", nil, []any{"count"}, "no integer"), fault.Field("bool_type", nil, []any{"unique"}, "no boolean"))
	for _, c := range []struct {
		unfit  error
		bounds []*fault.Error
		want   string
	}{
		{nil, nil, ""},
		{nil, []*fault.Error{nil, nil}, ""},
		{nil, []*fault.Error{small, nil, negative}, "count noise"},
		{unfit, nil, "count unique"},
		{unfit, []*fault.Error{small, negative}, "count unique noise"},
		{fault.Field("json_invalid", nil, []any{"count"}, "broken"), []*fault.Error{negative}, "count"},
	} {
		err := withBounds(c.unfit, c.bounds)
		var fields []string
		var f *fault.Error
		if errors.As(err, &f) {
			for _, problem := range f.All() {
				fields = append(fields, problem.Field())
			}
		}
		if got := strings.Join(fields, " "); got != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%v with %v: %q, want %q", c.unfit, c.bounds, got, c.want)
		}
	}
}
