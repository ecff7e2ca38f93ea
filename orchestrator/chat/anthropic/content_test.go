package anthropic

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// FuzzContent checks that the decoders of a message's content and of tools never panic and that all their errors are
// *wire.Mismatch.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		`"a"`, `[]`, `5`, `{}`, `[{"type":"text","text":"a"}]`, `[{"type":"image","source":{"type":"url","url":"data:,"}}]`,
		`[{"type":"image","source":{"type":"base64","data":5}}]`, `[{"type":"tool_use","name":"n","input":{}}]`,
		`[{"type":"tool_result","is_error":true,"content":[{"type":"text"}]}]`, `[{"type":null}]`, `[[]]`, `["\ud800"]`,
		`[{"type":"custom","name":"n","input_schema":{}}]`, `[{"name":5}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !jsontext.Value(text).IsValid() {
			return // package bind passes valid JSON only
		}
		for _, into := range []json.Unmarshaler{new(Content), new(Tools)} {
			err := into.UnmarshalJSON([]byte(text))
			var mismatch *wire.Mismatch
			if err != nil && !errors.As(err, &mismatch) {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
