package latent

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// TestConversations compares whole answers with testdata: see testdata/README.md.
func TestConversations(t *testing.T) {
	objects := standard
	objects.Generated = "objects"
	t.Run("answers", func(t *testing.T) {
		converse(t, start(t, standard, append(toyModels(t, 0), oracleModel(t))...), "testdata/answers.txt")
	})
	t.Run("objects", func(t *testing.T) { converse(t, start(t, objects, toyModels(t, 0)...), "testdata/objects.txt") })
	t.Run("refusals", func(t *testing.T) {
		converse(t, start(t, standard, toyModels(t, 0)...), "testdata/refusals.txt")
	})
}

// converse replays a file: blocks of "> METHOD path", the body, and the answer after "<". A block that begins with # is
// a comment.
func converse(t *testing.T, r *harness, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		if strings.HasPrefix(block, "#") {
			blocks = append(blocks, block)
			continue
		}
		request, _, _ := strings.Cut(block, "\n< ")
		head, body, _ := strings.Cut(request, "\n")
		var method, path string
		if _, err := fmt.Sscanf(head, "> %s %s", &method, &path); err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		status, answer := r.send(method, path, expand(body))
		blocks = append(blocks, fmt.Sprintf("%s\n< %d %s", request, status, abridge(answer)))
	}
	got := strings.Join(blocks, "\n\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want := string(text); got != want {
		t.Errorf("%s: the answers differ (go test -update rewrites them):\n%s", file, firstDifference(got, want))
	}
}

// send sends a request with a body and returns status and answer.
func (r *harness) send(method, path, body string) (int, string) {
	if method == http.MethodPost {
		return r.post(path, body)
	}
	request, err := http.NewRequest(method, r.url+path, nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	return r.answer(request)
}

// expand replaces every TIMES(n;x) in a body by n times x.
func expand(body string) string {
	for at := strings.LastIndex(body, "TIMES("); at >= 0; at = strings.LastIndex(body, "TIMES(") {
		end := at + strings.Index(body[at:], ")")
		count, what, _ := strings.Cut(body[at+len("TIMES("):end], ";")
		n := 0
		fmt.Sscan(count, &n)
		body = body[:at] + strings.TrimSuffix(strings.Repeat(what+",", n), ",") + body[end+1:]
	}
	return body
}

var (
	zeros      = regexp.MustCompile(`\b0(,0){9,}`)
	blankLines = regexp.MustCompile(`\n+`)
)

// abridge replaces runs of zeros by TIMES(n;0), and puts each event of a stream on a new line.
func abridge(answer string) string {
	answer = zeros.ReplaceAllStringFunc(answer, func(run string) string {
		return fmt.Sprintf("TIMES(%d;0)", (len(run)+1)/2)
	})
	return strings.TrimSpace(blankLines.ReplaceAllString(answer, "\n"))
}

func firstDifference(got, want string) string {
	a := strings.Split(got, "\n")
	b := strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return a[i] + "\nwant:\n" + strings.Join(b[min(i, len(b)):min(i+1, len(b))], "\n")
		}
	}
	return "the answers end early"
}
