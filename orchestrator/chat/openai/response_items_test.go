package openai

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// FuzzItems checks that the decoder of a response's input never panics, that all its errors are *wire.Mismatch, and
// that items that were stored are the same when they are read again.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{
		`"a"`, `[]`, `5`, `[{}]`, `[5]`, `[{"role":"user","content":"a"}]`, `[{"type":"reasoning","id":"rs_1","summary":[]}]`,
		`[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}],"phase":"commentary"}]`,
		`[{"role":"user","content":[{"type":"input_image","image_url":"data:,"}],"id":null,"status":null}]`,
		`[{"type":"function_call","call_id":"1","name":"a","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"b"}]}]`,
		`[{"type":"function_call_output","call_id":"1","output":"b"}]`, `["\ud800"]`, `[{"role":"user","content":null}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !jsontext.Value(text).IsValid() {
			return // package bind passes valid JSON only
		}
		var items Items
		err := items.UnmarshalJSON([]byte(text))
		var mismatch *wire.Mismatch
		if err != nil && !errors.As(err, &mismatch) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			return
		}
		stored, err := json.Marshal(items.stored())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var again Items
		if err := again.UnmarshalJSON(stored); err != nil {
			t.Fatalf("%s is stored as %s: %v", text, stored, err)
		}
		for i := range items {
			items[i].Raw = nil
			again[i].Raw = nil
			if !reflect.DeepEqual(items[i], again[i]) {
				t.Errorf("%s is stored as %s", text, stored)
			}
		}
	})
}
