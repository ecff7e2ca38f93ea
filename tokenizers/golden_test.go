package tokenizers

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var goldenFolder = flag.String("golden", "testdata",
	"folder of golden texts; scripts/golden/tokenizers_golden.py trial generates a larger one")

// golden is a row of a golden file, with results of the reference library: see scripts/golden/tokenizers_golden.py.
type golden struct {
	Text      string  `json:"text"`
	Pair      *string `json:"pair"`
	Max       int     `json:"max"`
	Strategy  string  `json:"strategy"`
	Direction string  `json:"direction"`
	Length    int     `json:"length"`
	IDs       []int32 `json:"ids"`
	Types     []int32 `json:"types"`
}

func (g golden) options() Options {
	strategies := map[string]Strategy{
		"longest_first": LongestFirst, "only_first": OnlyFirst, "only_second": OnlySecond,
	}
	o := Options{MaxLength: g.Max, Strategy: strategies[g.Strategy]}
	if g.Direction == "left" {
		o.Direction = Left
	}
	return o
}

func (g golden) encode(t *Tokenizer) (*Encoding, error) {
	if g.Pair == nil {
		return t.Encode(g.Text, g.options())
	}
	return t.EncodePair(g.Text, *g.Pair, g.options())
}

func unzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadGolden(t testing.TB, folder string) *Tokenizer {
	t.Helper()
	tok, err := parse(unzip(t, filepath.Join(folder, "tokenizer.json.gz")))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// rows calls f for each line of a golden file.
func rows[T any](t testing.TB, path string, f func(T)) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(unzip(t, path)))
	lines.Buffer(nil, 1<<24)
	n := 0
	for ; lines.Scan(); n++ {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		f(row)
	}
	if lines.Err() != nil || n == 0 {
		t.Fatalf("%s: %d rows, %v", path, n, lines.Err())
	}
}

// folders returns the folders of tokenizers in dir.
func folders(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "tokenizer.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

func goldenFolders(t testing.TB) []string {
	t.Helper()
	return folders(t, "testdata")
}

// TestGoldenTexts allows a difference in 1 of 10,000 texts, and none for WordPiece. This package has fewer texts, so it
// allows none here.
func TestGoldenTexts(t *testing.T) {
	for _, folder := range folders(t, *goldenFolder) {
		t.Run(filepath.Base(folder), func(t *testing.T) { compareTexts(t, folder) })
	}
}

func compareTexts(t *testing.T, folder string) {
	tok := loadGolden(t, folder)
	texts := 0
	tokens := 0
	different := 0
	rows(t, filepath.Join(folder, "golden.jsonl.gz"), func(g golden) {
		e, err := g.encode(tok)
		if err != nil {
			t.Fatal(err)
		}
		texts++
		tokens += len(e.IDs)
		if slices.Equal(e.IDs, g.IDs) {
			return
		}
		if different++; different <= 5 {
			t.Logf("%q\n got ids %v\nwant ids %v", g.Text, e.IDs, g.IDs)
		}
	})
	t.Logf("%d texts, %d tokens: ids differ in %d texts", texts, tokens, different)
	allowed := texts / 10000
	if strings.HasPrefix(filepath.Base(folder), "wordpiece") {
		allowed = 0
	}
	if different > allowed {
		t.Errorf("%d texts differ, at most %d are allowed", different, allowed)
	}
}

func TestGoldenPairs(t *testing.T) {
	for _, folder := range goldenFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			tok := loadGolden(t, folder)
			refused := 0
			rows(t, filepath.Join(folder, "pairs.jsonl.gz"), func(g golden) {
				e, err := g.encode(tok)
				if g.IDs == nil {
					var tooLong *LengthError
					if !errors.As(err, &tooLong) || tooLong.Length != g.Length || tooLong.Max != g.Max {
						t.Errorf("%+v: error %v", g, err)
					}
					refused++
					return
				}
				switch {
				case err != nil:
					t.Errorf("%+v: %v", g, err)
				case !slices.Equal(e.IDs, g.IDs) || !slices.Equal(e.TypeIDs, g.Types):
					t.Errorf("%+v\n got ids %v types %v", g, e.IDs, e.TypeIDs)
				case e.Length != g.Length || (e.Length > len(e.IDs)) != (g.Length > len(g.IDs)):
					t.Errorf("%+v\n got length %d", g, e.Length)
				}
			})
			if refused == 0 {
				t.Error("the golden file has no row that is refused")
			}
		})
	}
}

// TestCodePoints compares a digest of each block of 1,024 code points. It checks only every 16th block with the race
// detector, which is slow and finds nothing here, and beyond plane 1 for all tokenizers but one.
func TestCodePoints(t *testing.T) {
	for _, folder := range goldenFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			tok := loadGolden(t, folder)
			rows(t, filepath.Join(folder, "codepoints.jsonl.gz"), func(g struct {
				From   rune
				SHA256 string
			}) {
				sparse := raceEnabled || g.From >= 0x20000 && filepath.Base(folder) != "wordpiece"
				if sparse && g.From/1024%16 != 0 {
					return
				}
				if got := digest(t, tok, g.From); got != g.SHA256 {
					t.Errorf("code points from U+%04X: digest %s, want %s", g.From, got, g.SHA256)
				}
			})
		})
	}
}

// digest returns the digest of the token ids of "x", the code point and "y", for 1,024 code points.
func digest(t *testing.T, tok *Tokenizer, from rune) string {
	sum := sha256.New()
	for c := from; c < from+1024; c++ {
		if c >= 0xD800 && c <= 0xDFFF {
			continue
		}
		e, err := tok.Encode("x"+string(c)+"y", Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(sum, strings.Trim(fmt.Sprint(e.IDs), "[]"))
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}
