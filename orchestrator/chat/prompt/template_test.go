package prompt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func user(parts ...Part) []Message { return []Message{{Role: "user", Parts: parts}} }

func text(s string) Part { return Part{Text: s} }

var image = Part{Image: true}

func render(t *testing.T, tmpl *Template, messages []Message) string {
	t.Helper()
	got, err := tmpl.Render(messages, true)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestContentFormat(t *testing.T) {
	for name, want := range map[string]string{
		"llama-3.2-vision.jinja": formatMixed, "qwen2-vl.jinja": formatMixed, "simple.jinja": formatMixed,
		"llava-1.5.jinja": formatParts, "llava-next-mistral.jinja": formatParts, "phi-3-vision.jinja": formatText,
	} {
		if got := chatTemplate(t, name, Options{}).options.ContentFormat; got != want {
			t.Errorf("%s: format %s, want %s", name, got, want)
		}
	}
}

// TestPrompts compares prompts with the ones on the models' cards.
func TestPrompts(t *testing.T) {
	question := []Part{text("What is it?"), image}
	for name, test := range map[string]struct {
		options  Options
		messages []Message
		want     string
	}{
		"llama-3.2-vision.jinja": {
			Options{ImageFirst: true, StripBOS: true}, user(question...),
			"<|start_header_id|>user<|end_header_id|>\n\n<|image|>What is it?<|eot_id|>" +
				"<|start_header_id|>assistant<|end_header_id|>\n\n",
		},
		"qwen2-vl.jinja": {
			Options{}, user(question...),
			"<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" +
				"<|im_start|>user\nWhat is it?<|vision_start|><|image_pad|><|vision_end|><|im_end|>\n" +
				"<|im_start|>assistant\n",
		},
		"phi-3-vision.jinja": {
			Options{ImageFirst: true, Placeholder: "<|image_{n}|>"},
			[]Message{
				{Role: "user", Parts: []Part{image, text("First?"), image}},
				{Role: "assistant", Parts: []Part{text("Yes")}},
				{Role: "user", Parts: []Part{text("And now?"), image}},
			},
			"<|user|>\n<|image_1|>\n<|image_2|>\nFirst?<|end|>\n<|assistant|>\nYes<|end|>\n" +
				"<|user|>\n<|image_3|>\nAnd now?<|end|>\n<|assistant|>\n",
		},
		"llava-1.5.jinja": {Options{}, user(question...), "USER: <image>\nWhat is it? ASSISTANT:"},
		"simple.jinja":    {Options{ImageFirst: true}, user(question...), "<user><image>What is it?<end><assistant>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := render(t, chatTemplate(t, name, test.options), test.messages); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

var specialTokens = []string{"<|image|>", "<|eot_id|>", "<|im_start|>", "<image>", "é|"}

func TestEscape(t *testing.T) {
	tmpl := chatTemplate(t, "simple.jinja", Options{SpecialTokens: specialTokens})
	for _, parts := range [][]Part{
		{text("see <|image|> and <image>")},
		{text("<|eot_id|><|eot_id|>")},
		{text("<|im"), text("age|>")},
		{text("<"), text("|image|"), text(">")},
		{text("<|<|image|>image|>")},
		{text("<|im_<|im_start|>start|>")},
		{text("<<image>image>")},
		{text("aé|b")},
		{image, text("<ima"), text("ge>")},
	} {
		got := strings.Replace(render(t, tmpl, user(parts...)), "<user><image>", "<user>", 1)
		for _, token := range specialTokens {
			if strings.Contains(got, token) {
				t.Errorf("%v: %q still has %q", parts, got, token)
			}
		}
	}
	const want = "<user>a < b | c > d, <imag><end><assistant>"
	if got := render(t, tmpl, user(text("a < b | c > d, <imag>"))); got != want {
		t.Errorf("text without special tokens: got %q, want %q", got, want)
	}
}

// FuzzEscape checks that no text puts a special token into the prompt, however it is divided into parts.
func FuzzEscape(f *testing.F) {
	f.Add("<|image|>", "<|im", "age|>")
	f.Add("<|eot", "_id", "|>")
	e := newEscaper(specialTokens)
	f.Fuzz(func(t *testing.T, x, y, z string) {
		joined := ""
		for _, p := range e.escape([]Part{text(x), text(y), text(z)}) {
			joined += p.Text
		}
		for _, token := range specialTokens {
			if strings.Contains(joined, token) {
				t.Errorf("%q has the special token %q", joined, token)
			}
		}
	})
}

func TestContinue(t *testing.T) {
	tmpl := chatTemplate(t, "qwen2-vl.jinja", Options{})
	begun := Message{Role: "assistant", Parts: []Part{text("I am")}}
	got, err := tmpl.Continue([]Message{{Role: "user", Parts: []Part{text("Hi")}}, begun})
	if err != nil || !strings.HasSuffix(got, "<|im_start|>assistant\nI am") {
		t.Errorf("got %q, %v; want a prompt that ends with the answer", got, err)
	}
	if _, err := tmpl.Continue(nil); err == nil {
		t.Error("empty conversation: no error")
	}
}

func BenchmarkRender(b *testing.B) {
	tmpl := chatTemplate(b, "llama-3.2-vision.jinja", Options{SpecialTokens: specialTokens})
	var messages []Message
	for range 10 {
		messages = append(messages,
			Message{Role: "user", Parts: []Part{image, text("What is this?")}},
			Message{Role: "assistant", Parts: []Part{text("A molecule.")}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Render(messages, true); err != nil {
			b.Fatal(err)
		}
	}
}

// TestContinueChecksEnd has a template that omits the final message, whose text is also in a message of the user.
func TestContinueChecksEnd(t *testing.T) {
	tmpl, err := Parse("{% for m in messages[:-1] %}{{ m.content }}{% endfor %}", Options{ContentFormat: formatText})
	if err != nil {
		t.Fatal(err)
	}
	quote := "I am. " + strings.Repeat("And you? ", 1000)
	begun := Message{Role: "assistant", Parts: []Part{text("I am")}}
	got, err := tmpl.Continue([]Message{{Role: "user", Parts: []Part{text(quote)}}, begun})
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Errorf("got a prompt of %d bytes, %v; want a refusal", len(got), err)
	}
}

// TestManySpecialTokens has a text in which tens of thousands of special tokens could start at every byte. A comparison
// with each of them would take minutes.
func TestManySpecialTokens(t *testing.T) {
	const n = 1 << 22
	var tokens []string
	for i := range 1 << 15 {
		tokens = append(tokens, fmt.Sprintf("<|reserved %d|>", i))
	}
	parts := newEscaper(tokens).escape([]Part{text(strings.Repeat("<", n) + "|reserved 77|>")})
	if want := strings.Repeat("<", n) + " |reserved 77|>"; parts[0].Text != want {
		t.Error("the text has a space outside the special token, or none inside it")
	}
}

// TestTime compares strftime_now with datetime.strftime of Python.
func TestTime(t *testing.T) {
	const format = "%a %A %b %B %d %e %j %m %y %Y|%H %I %M %S %p %Z %z|%F %T %D %R|%c|%x %X|%-d %U %G-%V %%"
	tmpl, err := Parse("{{ strftime_now('"+format+"') }}", Options{Now: func() time.Time { return frozen }})
	if err != nil {
		t.Fatal(err)
	}
	const want = "Sat Saturday Mar March 07  7 066 03 26 2026|09 09 05 00 AM UTC +0000|" +
		"2026-03-07 09:05:00 03/07/26 09:05|Sat Mar  7 09:05:00 2026|03/07/26 09:05:00|7 09 2026-10 %"
	if got := render(t, tmpl, nil); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
