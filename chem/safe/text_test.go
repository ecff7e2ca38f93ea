package safe_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/chem/safe"
)

var update = flag.Bool("update", false, "rewrite the results in testdata/*.txt")

// TestText compares the results of all functions with the texts in testdata: see testdata/README.md.
func TestText(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no files: ", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var now []string
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		before, command, found := strings.Cut("\n"+block, "\n> ")
		if !found {
			t.Fatalf("no command in %q", block)
		}
		command, want, _ := strings.Cut(command, "\n")
		got := run(t, command)
		if !*update && got != want {
			t.Errorf("%s\n got %s\nwant %s", command, got, want)
		}
		now = append(now, strings.TrimPrefix(before+"\n> "+command+"\n"+got, "\n"))
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(now, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run executes one command of a file.
func run(t *testing.T, command string) string {
	words := strings.Fields(command)
	do, ok := commands[words[0]]
	if !ok {
		t.Fatalf("no command %q", words[0])
	}
	lines, err := do(words[1:])
	if err != nil {
		return "error: " + err.Error()
	}
	if text := strings.Join(lines, "\n"); text != "" {
		return text
	}
	return "(nothing)"
}

var commands = map[string]func([]string) ([]string, error){
	"encode": func(words []string) ([]string, error) { return one(safe.Encode(words[0], safe.EncodeOptions{})) },
	"encode-brackets": func(words []string) ([]string, error) {
		return one(safe.Encode(words[0], safe.EncodeOptions{Brackets: true}))
	},
	"decode": func(words []string) ([]string, error) { return one(safe.Decode(words[0], safe.DecodeOptions{})) },
	"decode-strict": func(words []string) ([]string, error) {
		return one(safe.Decode(words[0], safe.DecodeOptions{Strict: true}))
	},
	"decode-repair": func(words []string) ([]string, error) {
		return one(safe.Decode(words[0], safe.DecodeOptions{Repair: true}))
	},
	"decode-open": func(words []string) ([]string, error) {
		return one(safe.Decode(words[0], safe.DecodeOptions{KeepOpen: true}))
	},
	"cut":                 func(words []string) ([]string, error) { return safe.Cut(words[0], safe.BRICS) },
	"cut-single-bonds":    func(words []string) ([]string, error) { return safe.Cut(words[0], safe.SingleBonds) },
	"join":                func(words []string) ([]string, error) { return one(safe.Join(words)) },
	"bond":                func(words []string) ([]string, error) { return one(safe.Bond(words[0], words[1])) },
	"nested":              nested,
	"from-nested":         func(words []string) ([]string, error) { return []string{safe.FromNested(words[0])}, nil },
	"arrange":             arrange,
	"remove-placeholders": func(words []string) ([]string, error) { return one(safe.RemovePlaceholders(words[0])) },
	"open-radicals":       func(words []string) ([]string, error) { return []string{safe.OpenRadicals(words[0])}, nil },
}

func one(text string, err error) ([]string, error) { return []string{text}, err }

// nested writes a molecule in nested order from each of its ends.
func nested(words []string) (lines []string, err error) {
	ends, err := safe.Ends(words[0], safe.BRICS)
	for i := range ends {
		lines = append(lines, nestedFrom(ends, i))
	}
	return lines, err
}

// nestedFrom writes a molecule in nested order from one of its ends. If the end is a cut, the fragments across it come
// last and bond to the first atom.
func nestedFrom(ends []safe.End, first int) string {
	text := subtree(ends, first)
	if across := ends[first].Across; across >= 0 {
		text += subtree(ends, across)
	}
	return text
}

// subtree writes the fragment of an end, then depth first the fragments across its other ends.
func subtree(ends []safe.End, root int) string {
	text := "." + ends[root].Text
	for _, other := range ends[root].Others {
		if across := ends[other].Across; across >= 0 {
			text += subtree(ends, across)
		}
	}
	return text
}

// arrange writes the segments, a gap as {positions}, for the seed that is the first word.
func arrange(words []string) ([]string, error) {
	var seed uint64
	if _, err := fmt.Sscan(words[0], &seed); err != nil {
		return nil, err
	}
	ends, err := safe.Ends(words[1], safe.BRICS)
	if err != nil {
		return nil, err
	}
	segments, err := safe.Arrange(ends, rand.New(rand.NewPCG(seed, 0)))
	var lines []string
	for _, s := range segments {
		if s.Text == "" {
			s.Text = fmt.Sprintf("{%d}", s.Positions)
		}
		lines = append(lines, s.Text)
	}
	return []string{strings.Join(lines, " ")}, err
}
