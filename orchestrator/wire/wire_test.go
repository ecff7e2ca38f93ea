package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
)

// decode returns the value, or the rule that the text breaks.
func decode[T any](text string) string {
	var v T
	err := any(&v).(json.Unmarshaler).UnmarshalJSON([]byte(text))
	var m *Mismatch
	switch {
	case errors.As(err, &m):
		return fmt.Sprint(m.Rule, m.Path)
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(v)
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`5`: "5", `"5"`: "5", `" 5 "`: "5", `5.0`: "5", `"5.0"`: "5", `-3`: "-3", `1e3`: "1000",
		`1.5`: "int_from_float[]", `"1.5"`: "int_from_float[]", `"five"`: "int_parsing[]",
		`""`: "int_parsing[]", `"0x10"`: "int_parsing[]",
		`"NaN"`: "int_parsing[]", `"1_000"`: "int_parsing[]", `true`: "int_type[]",
		`null`: "int_type[]", `[5]`: "int_type[]", `1e300`: "int_type[]",
	} {
		if got := decode[Int](text); got != want {
			t.Errorf("Int %s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`5`: "5", `"1.5"`: "1.5", `1e-3`: "0.001", `"-2E1"`: "-20",
		`"warm"`: "float_parsing[]", `"Inf"`: "float_parsing[]", `"NaN"`: "float_parsing[]",
		`"1e999"`: "float_parsing[]", `false`: "float_type[]", `{}`: "float_type[]",
	} {
		if got := decode[Float](text); got != want {
			t.Errorf("Float %s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`true`: "true", `false`: "false", `"True"`: "true", `"false"`: "false", `1`: "true", `"0"`: "false",
		`"maybe"`: "bool_parsing[]", `2`: "bool_parsing[]", `null`: "bool_type[]", `[]`: "bool_type[]",
	} {
		if got := decode[Bool](text); got != want {
			t.Errorf("Bool %s: %s, want %s", text, got, want)
		}
	}
}

func TestStrings(t *testing.T) {
	for text, want := range map[string]string{
		`"a"`: "[a]", `["a","b"]`: "[a b]", `[]`: "[]", `5`: "string_type[]",
		`["a",5]`: "string_type[1]", `["a",null]`: "string_type[1]", `[["a"]]`: "string_type[0]",
	} {
		if got := decode[Strings](text); got != want {
			t.Errorf("Strings %s: %s, want %s", text, got, want)
		}
	}
}

func FuzzNumbers(f *testing.F) {
	for _, text := range []string{`5`, `"5"`, `"1e400"`, `-0`, `"true"`, `"\u0000"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		var v Float
		if err := v.UnmarshalJSON([]byte(text)); err == nil && (math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)) {
			t.Errorf("%q gives %v", text, v)
		}
		var i Int
		_ = i.UnmarshalJSON([]byte(text))
	})
}
