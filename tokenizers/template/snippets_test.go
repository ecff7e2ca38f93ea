package template

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reference is a golden file of scripts/golden/chat_templates.py, with results of Jinja2.
type reference struct {
	Messages []any
	Entries  []struct {
		Template       string
		Prompt         *string
		Error, Failure string
	}
}

// TestReference renders small templates and compares with Jinja2.
func TestReference(t *testing.T) { compareWithReference(t, "snippets", 100) }

// TestCited renders templates on which other Go engines fail: orchestrator/decisions/0012-chat-templates.md.
func TestCited(t *testing.T) { compareWithReference(t, "cited", 20) }

func compareWithReference(t *testing.T, name string, least int) {
	var golden reference
	read(t, "testdata/"+name+".json", &golden)
	if len(golden.Entries) < least {
		t.Fatalf("%d entries, want at least %d", len(golden.Entries), least)
	}
	for _, e := range golden.Entries {
		t.Run(e.Template, func(t *testing.T) {
			got, err := render(e.Template, golden.Messages)
			switch {
			case e.Failure != "":
				if err == nil || err.(*Error).Raised {
					t.Errorf("got %q, %v; the reference fails with %s", got, err, e.Failure)
				}
			case e.Prompt == nil:
				if err == nil || !err.(*Error).Raised || err.Error() != e.Error {
					t.Errorf("got %q, %v; want the template's own error %q", got, err, e.Error)
				}
			case err != nil:
				t.Error(err)
			default:
				if diff := cmp.Diff(*e.Prompt, got); diff != "" {
					t.Errorf("differs (-reference +ours):\n%s", diff)
				}
			}
		})
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func render(source string, turns []any) (string, error) {
	template, err := Parse(source)
	if err != nil {
		return "", err
	}
	messages := make([]any, len(turns))
	for i, turn := range turns {
		m := turn.(map[string]any)
		messages[i] = NewDict("role", m["role"], "content", m["content"])
	}
	return template.Render(map[string]any{
		"messages": messages, "one": messages[:min(1, len(messages))], "bos_token": "<s>", "eos_token": "</s>",
		"add_generation_prompt": true, "tools": nil, "documents": nil,
		"strftime_now": func(string) string { return "2026-03-07 March Mar 066 % 09:05" },
	})
}

// FuzzTemplate looks for templates that crash the parser or the renderer.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"{{ a.b[1:2]|join(',') }}",
		"{% for x in y if z %}{{ loop.index }}{% else %}{% endfor %}",
		"{%- raw -%}{{{% endraw %}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if _, err := render(source, nil); err != nil {
			_ = err.(*Error)
		}
	})
}
