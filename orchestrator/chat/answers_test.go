package chat_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image/color"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the API answers into testdata/answers")

// TestAnswersAsText holds what a client sees, as text: testdata/answers. In a file, a line "> METHOD path" begins a
// request, the lines below it are its body, a line "< status" begins the answer that is wanted, and the lines below
// that are the answer: JSON (indented when it is long) or the lines of a stream. Lines that begin with # are for the
// reader. In a body {{drawing W H GRAY}} is a PNG file of one shade and {{file NAME}} one of vision/testdata, as data
// URLs. In an answer ID and NOW stand for what differs each time. go test -run AnswersAsText -update writes the answers
// anew.
func TestAnswersAsText(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	files, err := filepath.Glob("testdata/answers/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := (&stand{t: t, url: s.url}).replay(string(data))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(data) && !*update {
				t.Errorf("%s\n%s", file, firstDifference(string(data), got))
			}
		})
	}
}

// firstDifference shows the first line that differs, and the request it belongs to.
func firstDifference(want, got string) string {
	wanted, given := strings.Split(want, "\n"), strings.Split(got, "\n")
	request := ""
	for i := range min(len(wanted), len(given)) {
		if strings.HasPrefix(wanted[i], "> ") {
			request = strings.Join(wanted[i:min(i+2, len(wanted))], "\n")
		}
		if wanted[i] != given[i] {
			return fmt.Sprintf("%s\nline %d is  %s\nand not  %s", request, i+1, given[i], wanted[i])
		}
	}
	return fmt.Sprintf("%d lines and not %d", len(given), len(wanted))
}

// replay sends the requests of a file and returns the file with the answers that came.
func (s *stand) replay(file string) string {
	s.t.Helper()
	var out strings.Builder
	var method, path, body string
	answer := false // the lines below are the answer wanted, which is not read
	for line := range strings.Lines(file) {
		switch {
		case strings.HasPrefix(line, "> "):
			var found bool
			if method, path, found = strings.Cut(strings.TrimSpace(line[2:]), " "); !found {
				s.t.Fatalf("no request: %s", line)
			}
			body, answer = "", false
		case strings.HasPrefix(line, "< ") || strings.TrimSpace(line) == "<":
			answer = true
			out.WriteString(s.answer(method, path, body) + "\n")
			continue
		case strings.HasPrefix(line, "#"):
			answer = false
		case !answer:
			body += line
		}
		if !answer {
			out.WriteString(line)
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// answer sends one request and returns the answer as text.
func (s *stand) answer(method, path, body string) string {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(s.filled(strings.TrimSpace(body))))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	status, text := read(s.t, res)
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	head := fmt.Sprintf("< %d %s\n", status, kind)
	text = identity32.ReplaceAllString(text, "${1}ID")
	text = created.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, "1760000000") { // of the models' entries
			return found
		}
		return found[:strings.IndexByte(found, ':')+1] + "NOW"
	})
	var indented bytes.Buffer
	quoted := strings.ReplaceAll(text, `:NOW`, `:"NOW"`)
	if len(text) > 600 && json.Indent(&indented, []byte(quoted), "", "  ") == nil {
		text = strings.ReplaceAll(indented.String(), `"NOW"`, "NOW")
	}
	return head + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n\n", "\n") + "\n"
}

var (
	identity32 = regexp.MustCompile(`([-_])[0-9a-f]{32}\b`)
	created    = regexp.MustCompile(`"created(?:_at)?":\d+`)
	inserted   = regexp.MustCompile(`\{\{(\w+) ([^}]*)\}\}`)
)

// filled puts the pictures into a body.
func (s *stand) filled(body string) string {
	return inserted.ReplaceAllStringFunc(body, func(found string) string {
		parts := inserted.FindStringSubmatch(found)
		words := strings.Fields(parts[2])
		switch parts[1] {
		case "drawing":
			width, _ := strconv.Atoi(words[0])
			height, _ := strconv.Atoi(words[1])
			gray, _ := strconv.Atoi(words[2])
			return drawing(width, height, color.Gray{Y: uint8(gray)})
		case "file":
			return dataURL(s.t, words[0])
		}
		s.t.Fatalf("what is %s?", found)
		return ""
	})
}
