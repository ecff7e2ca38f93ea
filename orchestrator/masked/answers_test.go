package masked

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/answers.txt")

// TestAnswers replays testdata/answers.txt: requests, and their answers from the toy model. A block is "> METHOD path",
// the body, and "< status answer", with one line for each event of a stream.
func TestAnswers(t *testing.T) {
	const file = "testdata/answers.txt"
	h := start(t, Config{})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var replayed strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		request, want, _ := strings.Cut(block, "\n< ")
		got := h.answer(request)
		fmt.Fprintf(&replayed, "%s\n< %s\n\n", request, got)
		if !*update && got != want {
			t.Errorf("%s\n got %s\nwant %s", request, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(replayed.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// answer sends one request in the form of the file.
func (h *harness) answer(request string) string {
	h.t.Helper()
	head, body, _ := strings.Cut(request, "\n")
	var method, path string
	if _, err := fmt.Sscanf(head, "> %s %s", &method, &path); err != nil {
		h.t.Fatalf("%q: %v", head, err)
	}
	if strings.Contains(body, `"stream":true`) {
		return "200\n" + strings.Join(h.events(body), "\n")
	}
	status, text := 0, ""
	if method == "GET" {
		status, text = h.get(path)
	} else {
		status, text = h.post(body)
	}
	return fmt.Sprintf("%d %s", status, text)
}
