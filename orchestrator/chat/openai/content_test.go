package openai

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// FuzzContent checks that the decoder of a message's content never panics and that all its errors are *wire.Mismatch.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		`"a"`, `[]`, `5`, `{}`, `[{"type":"text","text":"a"}]`, `[{"type":"image_url","image_url":"data:,"}]`,
		`[{"type":"image_url","image_url":{"url":"data:,","detail":"low"}}]`, `[{"type":null}]`, `[[]]`, `["\ud800"]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !jsontext.Value(text).IsValid() {
			return // package bind passes valid JSON only
		}
		var content Content
		err := content.UnmarshalJSON([]byte(text))
		var mismatch *wire.Mismatch
		if err != nil && !errors.As(err, &mismatch) {
			t.Errorf("%s: %v", text, err)
		}
	})
}
