package fault

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The rules below are pydantic 2's, with its types, wording and context
// (https://docs.pydantic.dev/latest/errors/validation_errors/), which the published services answer with. Each function
// returns nil if its value keeps the rule.

// OneOf requires a value from a fixed set of strings.
func OneOf(value string, allowed []string, path ...any) *Error {
	if slices.Contains(allowed, value) {
		return nil
	}
	expected := "'" + allowed[0] + "'"
	if last := len(allowed) - 1; last > 0 {
		expected = fmt.Sprintf("'%s' or '%s'", strings.Join(allowed[:last], "', '"), allowed[last])
	}
	return withLimit(Field("literal_error", value, path, "Input should be %s", expected), "expected", expected)
}

// AtLeast requires a number that is not less than lower.
func AtLeast[N cmp.Ordered](value, lower N, path ...any) *Error {
	if value >= lower {
		return nil
	}
	f := Field("greater_than_equal", value, path, "Input should be greater than or equal to %v", lower)
	return withLimit(f, "ge", lower)
}

// Between requires a number from lower to upper, both included.
func Between[N cmp.Ordered](value, lower, upper N, path ...any) *Error {
	if value <= upper {
		return AtLeast(value, lower, path...)
	}
	f := Field("less_than_equal", value, path, "Input should be less than or equal to %v", upper)
	return withLimit(f, "le", upper)
}

// NotEmpty requires a list with at least one item.
func NotEmpty(count int, path ...any) *Error { return Items(count, 1, math.MaxInt, path...) }

// Items requires a list of min to max items. The error repeats an empty list and not one that is too long.
func Items(count, min, max int, path ...any) *Error {
	switch {
	case count < min:
		f := Field("too_short", nil, path,
			"List should have at least %s after validation, not %d", plural(min, "item"), count)
		if count == 0 {
			f.Input = []any{}
		}
		f.Limits = map[string]any{"field_type": "List", "min_length": min, "actual_length": count}
		return f
	case count > max:
		f := Field("too_long", nil, path,
			"List should have at most %s after validation, not %d", plural(max, "item"), count)
		f.Limits = map[string]any{"field_type": "List", "max_length": max, "actual_length": count}
		return f
	}
	return nil
}

// Text requires a text that is not empty and has no NUL character, which would be lost silently on its way to a model.
func Text(value string, path ...any) *Error {
	if value == "" {
		f := Field("string_too_short", value, path, "String should have at least 1 character")
		return withLimit(f, "min_length", 1)
	}
	if at := strings.IndexByte(value, 0); at >= 0 {
		return Field("value_error", nil, path, "Value error, text should not contain a NUL character (byte %d)", at)
	}
	return nil
}

// Extra refuses a member that the API or the model does not accept.
func Extra(value any, path ...any) *Error {
	return Field("extra_forbidden", value, path, "Extra inputs are not permitted")
}

func withLimit(f *Error, name string, limit any) *Error {
	f.Limits = map[string]any{name: limit}
	return f
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
