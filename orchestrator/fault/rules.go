package fault

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// The rules below are pydantic 2's, with its types, wording and context
// (https://docs.pydantic.dev/latest/errors/validation_errors/), which is what the published services answer with. Each
// returns nil when value keeps the rule.

// OneOf is a value from a fixed set of texts.
func OneOf(value string, allowed []string, path ...any) *Error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	expected := "'" + allowed[0] + "'"
	if last := len(allowed) - 1; last > 0 {
		expected = fmt.Sprintf("'%s' or '%s'", strings.Join(allowed[:last], "', '"), allowed[last])
	}
	return limited(Field("literal_error", value, path, "Input should be %s", expected), "expected", expected)
}

// AtLeast is a number with a lower bound.
func AtLeast[N cmp.Ordered](value, least N, path ...any) *Error {
	if value >= least {
		return nil
	}
	return limited(Field("greater_than_equal", value, path, "Input should be greater than or equal to %v", least), "ge", least)
}

// Between is a number with both bounds, which belong to the range.
func Between[N cmp.Ordered](value, least, most N, path ...any) *Error {
	if value <= most {
		return AtLeast(value, least, path...)
	}
	return limited(Field("less_than_equal", value, path, "Input should be less than or equal to %v", most), "le", most)
}

// NotEmpty is a list that has at least one item.
func NotEmpty(count int, path ...any) *Error { return Items(count, 1, math.MaxInt, path...) }

// Items is a list with bounds on its length. An empty one is repeated as it was sent, one that is too long is not.
func Items(count, least, most int, path ...any) *Error {
	switch {
	case count < least:
		f := Field("too_short", nil, path, "List should have at least %s after validation, not %d", plural(least, "item"), count)
		if count == 0 {
			f.Input = []any{}
		}
		f.Limits = map[string]any{"field_type": "List", "min_length": least, "actual_length": count}
		return f
	case count > most:
		f := Field("too_long", nil, path, "List should have at most %s after validation, not %d", plural(most, "item"), count)
		f.Limits = map[string]any{"field_type": "List", "max_length": most, "actual_length": count}
		return f
	}
	return nil
}

// Text is a text that is not empty and holds no NUL, which no text means and which would silently disappear on the way
// to a model.
func Text(value string, path ...any) *Error {
	if value == "" {
		return limited(Field("string_too_short", value, path, "String should have at least 1 character"), "min_length", 1)
	}
	if at := strings.IndexByte(value, 0); at >= 0 {
		return Field("value_error", nil, path, "Value error, text should not contain a NUL character (byte %d)", at)
	}
	return nil
}

// Extra is a member that the API, or the model, does not take.
func Extra(value any, path ...any) *Error {
	return Field("extra_forbidden", value, path, "Extra inputs are not permitted")
}

func limited(f *Error, name string, limit any) *Error {
	f.Limits = map[string]any{name: limit}
	return f
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
