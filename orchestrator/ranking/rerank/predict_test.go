package rerank

import (
	"encoding/json"
	"errors"
	"testing"

	"retort/orchestrator/wire"
)

// FuzzInputs checks that the decoder of inputs never panics, that its errors are *wire.Mismatch, and that it loses none
// of the texts.
func FuzzInputs(f *testing.F) {
	for _, text := range []string{`"a"`, `["a"]`, `["a","b"]`, `[["a"],["b","c"]]`, `[[],null]`, `[["a",1]]`, `{}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		var in Inputs
		if err := in.UnmarshalJSON([]byte(text)); err != nil {
			if _, ok := errors.AsType[*wire.Mismatch](err); !ok {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) == nil && in.batch && len(list) != len(in.items) {
			t.Errorf("%q: %d inputs", text, len(in.items))
		}
	})
}
