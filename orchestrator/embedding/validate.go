package embedding

import (
	"fmt"
	"strings"

	"retort/orchestrator/fault"
)

// Validate checks what needs no model to be known.
func (r *Request) Validate() error {
	return fault.Join(
		literal("truncate", r.Truncate, "NONE", "START", "END"),
		literal("encoding_format", r.EncodingFormat, "float", "base64"),
		optional("input_type", r.InputType, "query", "passage"),
		positive("dimensions", r.Dimensions),
		named(r.Model),
		texts(r.Input),
	)
}

// literal is pydantic's error for a value outside a fixed set.
func literal(name, value string, allowed ...string) *fault.Error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	last := len(allowed) - 1
	expected := fmt.Sprintf("'%s' or '%s'", strings.Join(allowed[:last], "', '"), allowed[last])
	f := fault.Field("literal_error", value, []any{name}, "Input should be %s", expected)
	f.Limits = map[string]any{"expected": expected}
	return f
}

func optional(name string, value *string, allowed ...string) *fault.Error {
	if value == nil {
		return nil
	}
	return literal(name, *value, allowed...)
}

func positive(name string, value *int) *fault.Error {
	if value == nil || *value >= 1 {
		return nil
	}
	return atLeast(name, *value, 1)
}

func atLeast(name string, value, least int) *fault.Error {
	f := fault.Field("greater_than_equal", value, []any{name}, "Input should be greater than or equal to %d", least)
	f.Limits = map[string]any{"ge": least}
	return f
}

func named(model string) *fault.Error {
	if model == "" {
		return emptyText("model")
	}
	return nil
}

func emptyText(path ...any) *fault.Error {
	f := fault.Field("string_too_short", "", path, "String should have at least 1 character")
	f.Limits = map[string]any{"min_length": 1}
	return f
}

// texts refuses an empty list, empty texts and NUL, which no text holds and
// which would silently disappear in tokenising.
func texts(input []string) *fault.Error {
	if len(input) == 0 {
		f := fault.Field("too_short", input, []any{"input"}, "List should have at least 1 item after validation, not 0")
		f.Limits = map[string]any{"field_type": "List", "min_length": 1, "actual_length": 0}
		return f
	}
	for i, text := range input {
		if text == "" {
			return emptyText("input", i)
		}
		if at := strings.IndexByte(text, 0); at >= 0 {
			return fault.Field("value_error", nil, []any{"input", i}, "Text should not contain a NUL character (byte %d)", at)
		}
	}
	return nil
}

// tooMany refuses more inputs than the setting allows.
func tooMany(count, most int) error {
	if count <= most {
		return nil
	}
	f := fault.Field("too_long", nil, []any{"input"}, "List should have at most %d items after validation, not %d", most, count)
	f.Limits = map[string]any{"field_type": "List", "max_length": most, "actual_length": count}
	return f
}
