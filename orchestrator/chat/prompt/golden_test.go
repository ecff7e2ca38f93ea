package prompt

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// golden is the golden file of scripts/golden/chat_templates.py.
type golden struct {
	Entries []struct {
		Template, Conversation string
		Generate               bool
		Prompt                 *string
		Error, Failure         string
	}
}

var frozen = time.Date(2026, 3, 7, 9, 5, 0, 0, time.UTC)

func read[T any](t testing.TB, path string) (v T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func chatTemplate(t testing.TB, name string, o Options) *Template {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "templates", name))
	if err != nil {
		t.Fatal(err)
	}
	o.Variables = map[string]string{"bos_token": "<s>", "eos_token": "</s>"}
	o.Now = func() time.Time { return frozen }
	parsed, err := Parse(string(source), o)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestReference compares all conversations and templates with Jinja2, configured as in transformers.
func TestReference(t *testing.T) {
	conversations := read[map[string][]any](t, "testdata/conversations.json")
	entries := read[golden](t, "testdata/golden.json").Entries
	if len(entries) < 200 {
		t.Fatalf("%d entries, want at least 200", len(entries))
	}
	for _, e := range entries {
		name := e.Template + "/" + e.Conversation
		if e.Generate {
			name += "/generate"
		}
		t.Run(name, func(t *testing.T) {
			got, err := chatTemplate(t, e.Template, Options{}).render(conversations[e.Conversation], e.Generate, nil)
			if e.Failure != "" {
				if err == nil {
					t.Fatalf("got %q; the reference fails with %s", got, e.Failure)
				}
				return
			}
			if e.Prompt == nil {
				var refusal *Refusal
				if !errors.As(err, &refusal) || refusal.Message != e.Error {
					t.Fatalf("got %q, %v; want the refusal %q", got, err, e.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*e.Prompt, got); diff != "" {
				t.Errorf("prompt differs (-reference +ours):\n%s", diff)
			}
		})
	}
}

// TestLongConversations checks that the budget of a rendering suffices for 200,000 characters in every template.
func TestLongConversations(t *testing.T) {
	const characters = 200_000
	templates := map[string]bool{}
	for _, e := range read[golden](t, "testdata/golden.json").Entries {
		templates[e.Template] = true
	}
	for name := range templates {
		for _, length := range []int{10, 500, characters} {
			var messages []Message
			for i := range max(1, characters/length-1) | 1 { // odd, so the last message is the user's
				message := Message{Role: []string{"user", "assistant"}[i%2]}
				message.Parts = []Part{{Text: strings.Repeat("word ", length/5)}}
				messages = append(messages, message)
			}
			if _, err := chatTemplate(t, name, Options{}).Render(messages, true); err != nil {
				t.Errorf("%s, messages of %d characters: %v", name, length, err)
			}
		}
	}
}
