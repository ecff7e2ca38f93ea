package prompt

import "testing"

// TestArguments renders the arguments of calls: JSON as a value, all other texts unchanged.
func TestArguments(t *testing.T) {
	parsed, err := Parse(`{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}`+
		`{% endfor %}{% endfor %}`, Options{SpecialTokens: []string{"<end>"}})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"b": 1.50, "a": [true, null, "<end>"]}`: `{"b": 1.5, "a": [true, null, "< end>"]}`,
		"":               `""`,
		`{"a": 1} {}`:    `"{\"a\": 1} {}"`,
		`{"a": 1}}`:      `"{\"a\": 1}}"`,
		`{"a": 1} <end>`: `"{\"a\": 1} < end>"`,
		`{"a": 1`:        `"{\"a\": 1"`,
	} {
		got, err := parsed.Render([]Message{{Role: "assistant", Calls: []Call{{Arguments: arguments}}}}, true)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", arguments, got, err, want)
		}
	}
}
