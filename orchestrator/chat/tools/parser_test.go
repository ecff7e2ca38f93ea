package tools

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var offered = []Tool{{Name: "weather"}, {Name: "keep"}}

// readAll returns the deltas of an answer that is divided at the given places, with adjacent texts joined.
func readAll(f Format, single bool, answer string, cuts ...int) (joined []Delta) {
	r := Plan{Tools: offered, Optional: true, Single: single}.NewReader(f)
	from := 0
	for _, to := range append(cuts, len(answer)) {
		for _, d := range r.Read(answer[from:to], to == len(answer)) {
			if n := len(joined); n > 0 && d.IsText() && joined[n-1].IsText() {
				joined[n-1].Text += d.Text
			} else {
				joined = append(joined, d)
			}
		}
		from = to
	}
	return joined
}

func text(s string) Delta             { return Delta{Text: s} }
func call(name, args string) Delta    { return Delta{Name: name, Arguments: args} }
func deltas(list ...Delta) []Delta    { return list }
func unchanged(answer string) []Delta { return []Delta{text(answer)} }

var oslo = call("weather", `{"city":"Oslo"}`)

// parserTests are answers with their texts and calls; nil means that the answer is a text.
var parserTests = []struct {
	format Format
	answer string
	want   []Delta
}{
	{Hermes, `<tool_call>` + "\n" + `{"name": "weather", "arguments": {"city": "Oslo"}}` + "\n</tool_call>", deltas(oslo)},
	{Hermes, "Let me look. \n<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>\n" +
		`<tool_call>{"arguments": {"a": [1, {"b": "}<tool_call>"}]}, "name": "keep"}</tool_call>` + "\nDone. ",
		deltas(text("Let me look."), oslo, call("keep", `{"a":[1,{"b":"}<tool_call>"}]}`), text("Done. "))},
	{Hermes, `<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}`, deltas(oslo)}, // no end
	{Hermes, `<tool_call>{"name": "weather", "arguments": {"city": "Oslo"`, nil},
	{Hermes, `<tool_call>{"name": "other", "arguments": {}}</tool_call>`, nil},
	{Hermes, `<tool_call>{"name": "weather", "arguments": "{}"}</tool_call>`, nil},
	{Hermes, `<tool_call>{"name": "weather", "arguments": [1]}</tool_call>`, nil},
	{Hermes, `<tool_call>{"name": "weather"}</tool_call>`, nil},
	{Hermes, `<tool_call>{"name": "weather", "arguments": {}, "parameters": {}}</tool_call>`, nil},
	{Hermes, `<tool_call>{"name": "weather", "arguments": {"a": 1, "a": 2}}</tool_call>`, nil},
	{Hermes, `<tool_call>weather</tool_call>`, nil},
	{Hermes, `<tool_call>{'name': 'weather'} <tool_call>`, nil},
	{Hermes, "Write <tool_call> first, then \\{\"a\"} <tool", nil},
	{Hermes, `{"name": "weather", "arguments": {"city": "Oslo"}}`, nil},
	{Hermes, "  \n", nil},
	{Llama, `{"name": "weather", "parameters": {"city": "Oslo"}}`, deltas(oslo)},
	{Llama, `<|python_tag|>{"name": "weather", "parameters": {"city": "Oslo"}}; {"type": "function", "name": "keep",` +
		` "parameters": {}}`, deltas(oslo, call("keep", `{}`))},
	{Llama, "I look.\n" + `  {"name": "weather", "parameters": {"city": "Oslo"}}`, deltas(text("I look."), oslo)},
	{Llama, `Write {"name": "weather", "parameters": {}}`, nil},
	{Llama, `{"function": {"name": "weather", "parameters": {}}}`, nil},
	{Llama, `{"name": "weather", "description": "d", "parameters": {}}`, nil},
	{Llama, "func main() {\n\tfmt.Println(\"{\")\n}\n{\n\"x\": 1}", nil},
	{Llama, `<|python_tag|>print(5)`, nil},
	{Mistral, `[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Oslo"}, "id": "abcdef123"}, ` +
		`{"name": "keep", "arguments": {}}]`, deltas(oslo, call("keep", `{}`))},
	{Mistral, `Hm. [TOOL_CALLS]weather{"city": "Oslo"}[TOOL_CALLS]keep[ARGS]{}`,
		deltas(text("Hm."), oslo, call("keep", `{}`))},
	{Mistral, `[TOOL_CALLS]{"name": "weather", "arguments": {"city": "Oslo"}}`, deltas(oslo)},
	{Mistral, `[TOOL_CALLS] [{"name": "weather", "arguments": {}}, {"name": "other", "arguments": {}}]`, nil},
	{Mistral, `[TOOL_CALLS] []`, nil},
	{Mistral, `[TOOL_CALLS]other{"city": "Oslo"}`, nil},
	{Mistral, `[TOOL_CALLS]weather[ARGS] [1]`, nil},
	{Mistral, `[TOOL_CALLS]weather[ARG`, nil},
	{Mistral, `[TOOL_CALLS]weather{"a": 1, "a": 2}`, nil},
	{Mistral, `[TOOL_CALLS]weather{"a": "` + "\xff" + `"}`, nil},
	{Mistral, `[TOOL_CALLS]weather{"a": "\ud800"}`, nil},
	{Mistral, `[TOOL_CALLS]` + strings.Repeat(" ", 300) + `[{"name": "keep", "arguments": {}}]`, nil},
	{Ignored, `<tool_call>{"name": "weather", "arguments": {}}</tool_call>`, nil},
}

// TestParser compares the calls of answers, in one piece, cut at every byte, and byte by byte.
func TestParser(t *testing.T) {
	for _, test := range parserTests {
		want := test.want
		if want == nil {
			want = unchanged(test.answer)
		}
		if diff := cmp.Diff(want, readAll(test.format, false, test.answer)); diff != "" {
			t.Errorf("%s %q: %s", test.format, test.answer, diff)
		}
		var every []int
		for i := range len(test.answer) {
			every = append(every, i)
			if diff := cmp.Diff(want, readAll(test.format, false, test.answer, i)); diff != "" {
				t.Errorf("%s %q cut at byte %d: %s", test.format, test.answer, i, diff)
			}
		}
		if diff := cmp.Diff(want, readAll(test.format, false, test.answer, every...)); diff != "" {
			t.Errorf("%s %q byte by byte: %s", test.format, test.answer, diff)
		}
	}
}

// TestSingleCall checks that only the first call counts if calls must not be parallel.
func TestSingleCall(t *testing.T) {
	for _, test := range parserTests {
		isCall := func(d Delta) bool { return !d.IsText() }
		got := readAll(test.format, true, test.answer)
		first := slices.IndexFunc(test.want, isCall)
		if first < 0 {
			continue
		}
		at := slices.IndexFunc(got, isCall)
		if at != first || got[at] != test.want[first] || slices.ContainsFunc(got[at+1:], isCall) {
			t.Errorf("%s %q: got %v", test.format, test.answer, got)
		}
	}
}

// TestTextBeforeCallIsNotWithheld checks that a stream withholds no more than blanks and what may begin a call.
func TestTextBeforeCallIsNotWithheld(t *testing.T) {
	r := Plan{Tools: offered, Optional: true}.NewReader(Hermes)
	for _, step := range []struct{ text, want string }{
		{"I ", "I"}, {"look", " look"}, {" <to", ""}, {"ol>", " <tool>"}, {"\n<tool_call>", ""}, {"{", ""}, {"}x", "\n<tool_call>{}x"},
	} {
		got := ""
		for _, d := range r.Read(step.text, false) {
			got += d.Text
		}
		if got != step.want {
			t.Errorf("after %q: got %q, want %q", step.text, got, step.want)
		}
	}
}

// FuzzParser checks that any answer gives the same deltas however it is cut, that calls are valid, and that an answer
// without calls is unchanged.
func FuzzParser(f *testing.F) {
	for _, test := range parserTests {
		f.Add(test.answer, uint16(3), uint16(20))
	}
	f.Fuzz(func(t *testing.T, answer string, a, b uint16) {
		cuts := []int{int(a) % (len(answer) + 1), int(b) % (len(answer) + 1)}
		slices.Sort(cuts)
		for _, format := range []Format{Hermes, Llama, Mistral} {
			whole := readAll(format, false, answer)
			if diff := cmp.Diff(whole, readAll(format, false, answer, cuts...)); diff != "" {
				t.Errorf("%s %q cut at %v: %s", format, answer, cuts, diff)
			}
			calls := 0
			written := ""
			for _, d := range whole {
				written += d.Text
				if d.IsText() {
					continue
				}
				calls++
				known := d.Name == "weather" || d.Name == "keep"
				var arguments map[string]any
				if json.Unmarshal([]byte(d.Arguments), &arguments) != nil || !known {
					t.Errorf("%s %q: invalid call %v", format, answer, d)
				}
			}
			if calls == 0 && written != answer {
				t.Errorf("%s %q: without calls the text is %q", format, answer, written)
			}
		}
	})
}

// TestWorkIsLinear reads long answers of what may begin a call, in one piece and in small ones. If the rest of the
// answer were searched or copied for each start, most cases would not end within the time limit of go test.
func TestWorkIsLinear(t *testing.T) {
	const bytes = 2 << 20
	for _, test := range []struct {
		format Format
		unit   string
	}{
		{Hermes, "\n"},
		{Hermes, "<tool_call>\n"},
		{Hermes, "<tool_call>{}"},
		{Llama, "{\n"},
		{Llama, `{"name": 1}` + "\n"},
		{Llama, "<|python_tag|>\n "},
		{Mistral, "[TOOL_CALLS]a"},
		{Mistral, "[TOOL_CALLS]a[ARGS] "},
	} {
		answer := strings.Repeat(test.unit, bytes/len(test.unit))
		if got := readAll(test.format, false, answer); !slices.Equal(got, unchanged(answer)) {
			t.Errorf("%s %q: %d deltas", test.format, test.unit, len(got))
		}
		r := Plan{Tools: offered, Optional: true}.NewReader(test.format)
		read := 0
		for from := 0; from < len(answer); from += 4 {
			to := min(from+4, len(answer))
			for _, d := range r.Read(answer[from:to], to == len(answer)) {
				read += len(d.Text)
			}
		}
		if read != len(answer) {
			t.Errorf("%s %q in small pieces: %d bytes of %d", test.format, test.unit, read, len(answer))
		}
	}
}

// BenchmarkParser reads a long candidate token by token: the work grows with the length, not with its square.
func BenchmarkParser(b *testing.B) {
	token := strings.Repeat("a", 4)
	for b.Loop() {
		r := Plan{Tools: offered, Optional: true}.NewReader(Hermes)
		r.Read(`<tool_call>{"name": "keep", "arguments": {"a": "`, false)
		for range 100_000 {
			r.Read(token, false)
		}
		if got := r.Read(`"}}`, true); len(got) != 1 || got[0].Name != "keep" {
			b.Fatal("no call")
		}
	}
}
