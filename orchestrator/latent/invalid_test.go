package latent

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/invalid.txt anew")

// testdata/invalid.txt holds requests and what they are answered, in turns: a
// line "POST path body", then lines with the status and every detail.
func TestInvalid(t *testing.T) {
	const file = "testdata/invalid.txt"
	r := start(t, standard, toyModels(t, 0)...)
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	cases := 0
	for line := range strings.Lines(string(old)) {
		request, isRequest := strings.CutPrefix(line, "POST ")
		switch {
		case isRequest:
			path, body, _ := strings.Cut(strings.TrimSpace(request), " ")
			now.WriteString(line + r.worded(path, body))
			cases++
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
			now.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if now.String() != string(old) && !*update {
		t.Errorf("answers differ from %s (-update writes it):\n%s", file, now.String())
	}
	if cases < 30 {
		t.Errorf("only %d cases", cases)
	}
}

// worded sends a request; TIMES(n;x) in it stands for n times x with commas
// between.
func (r *room) worded(path, body string) string {
	for {
		at := strings.LastIndex(body, "TIMES(")
		if at < 0 {
			break
		}
		end := at + strings.Index(body[at:], ")")
		count, what, _ := strings.Cut(body[at+len("TIMES("):end], ";")
		n := 0
		fmt.Sscan(count, &n)
		body = body[:at] + strings.TrimSuffix(strings.Repeat(what+",", n), ",") + body[end+1:]
	}
	status, text := r.post(path, body)
	var listed Invalid
	var one Failure
	var b strings.Builder
	fmt.Fprintf(&b, "  %d\n", status)
	if json.Unmarshal([]byte(text), &listed) == nil {
		for _, d := range listed.Detail {
			loc, _ := json.Marshal(d.Loc)
			fmt.Fprintf(&b, "  %s %s: %s\n", d.Type, loc, d.Msg)
		}
	} else if json.Unmarshal([]byte(text), &one) == nil {
		fmt.Fprintf(&b, "  %s\n", one.Detail)
	} else {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}
