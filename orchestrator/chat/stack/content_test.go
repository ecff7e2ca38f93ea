package stack

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// FuzzContent checks that the decoders of a message's content and of a strategy never panic and that all their errors
// are *wire.Mismatch.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		`"a"`, `[]`, `5`, `{}`, `[{"type":"text","text":"a"}]`, `[{"image":{"uri":"data:,"}}]`, `{"image":{"url":{"uri":"a"}}}`,
		`[{"type":"image","data":"aGk="}]`, `[{"type":null}]`, `[[]]`, `["\ud800"]`,
	} {
		f.Add(seed)
	}
	for _, seed := range []string{`"greedy"`, `{"type":"top_p","top_p":0.5}`, `{"type":5}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !jsontext.Value(text).IsValid() {
			return // package bind passes valid JSON only
		}
		for _, into := range []json.Unmarshaler{new(Content), new(Strategy)} {
			err := into.UnmarshalJSON([]byte(text))
			var mismatch *wire.Mismatch
			if err != nil && !errors.As(err, &mismatch) {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
