package masked

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/tokenizers/molecules"
)

func parseLengths(t *testing.T, text string) (*lengths, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lengths.txt")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return readLengths(file)
}

func TestDrawnLengths(t *testing.T) {
	l, err := parseLengths(t, "8 40 3\n2 10 1 0\n12 41 1 1\n")
	if err != nil {
		t.Fatal(err)
	}
	l.apiTokensPerToken = 4
	random := rand.New(rand.NewPCG(1, 2))
	lengths := map[int]int{}
	tokens := map[int]int{}
	for range 1000 {
		lengths[l.DrawLength(false, random)]++
		if n := l.DrawLength(true, random); n != 41 {
			t.Fatalf("drew length %d with quality, want 41", n)
		}
		tokens[l.DrawTokens(40, false, random)]++
		if n := l.DrawTokens(10, false, random); n != 2 {
			t.Fatalf("%d tokens for length 10, want 2", n)
		}
		if n := l.DrawTokens(40, true, random); n != 12 {
			t.Fatalf("%d tokens for length 40 with quality, want 12", n)
		}
		if n := l.DrawTokens(10, true, random); n != 2 { // no molecule of quality is as short
			t.Fatalf("%d tokens for length 10 with quality, want 2", n)
		}
		if n := l.DrawTokens(100, false, random); n != 25 { // no molecule is as long: by the average
			t.Fatalf("%d tokens for length 100, want 25", n)
		}
	}
	if len(lengths) != 3 || lengths[40] < 500 || lengths[40] > 700 {
		t.Errorf("lengths %v, want about 200 times 10, 600 times 40, 200 times 41", lengths)
	}
	if len(tokens) != 2 || tokens[8] < 650 || tokens[8] > 850 {
		t.Errorf("tokens for length 40: %v, want about 750 times 8, 250 times 12", tokens)
	}
}

func TestLengthsFromTheAverage(t *testing.T) {
	l, err := parseLengths(t, "8 1\n")
	if err != nil {
		t.Fatal(err)
	}
	l.apiTokensPerToken = 2.5
	random := rand.New(rand.NewPCG(1, 2))
	if n := l.DrawLength(true, random); n != 20 {
		t.Errorf("length %d, want 20", n)
	}
	if n := l.DrawTokens(5, false, random); n != 2 {
		t.Errorf("%d tokens for length 5, want 2", n)
	}
}

func TestInvalidLengths(t *testing.T) {
	for _, text := range []string{"", "8 40 x", "0 1", "8 0 3", "8 40 0", "8", "8 40 3 -1", "8 40 3 1 1"} {
		if _, err := parseLengths(t, text+"\n"); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// A model that has condition tokens gets them in place of [BOS] and [EOS].
func TestConditionTokens(t *testing.T) {
	for want, conditions := range map[string][]string{
		"[QUALITY] C [LENGTH 4]": {"[QUALITY]", "[LENGTH 20]", "[LENGTH 4]"},
		"[BOS] C [EOS]":          nil,
	} {
		special := []string{"[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]"}
		tokens := slices.Concat(special, conditions, []string{"C", ".", "*"})
		v, err := molecules.ParseVocabulary(strings.Join(tokens, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		tokenizer, err := molecules.NewSAFE(v)
		if err != nil {
			t.Fatal(err)
		}
		m := &nestedModel{SAFE: tokenizer, apiTokens: apiTokens(tokenizer)}
		c, _ := v.ID("C")
		row := m.Row([]int32{c}, Target{Quality: true, APITokens: 19})
		var text []string
		for _, id := range row {
			text = append(text, v.Token(id))
		}
		if got := strings.Join(text, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		plain := m.Row([]int32{c}, Target{APITokens: 1})
		if bos, eos := plain[0], plain[2]; bos != v.BOS || eos != v.EOS {
			t.Errorf("a row without conditions starts with %d and ends with %d", bos, eos)
		}
		if text, err := m.Decode(row); err != nil || text != "C" {
			t.Errorf("decoded %q, %v", text, err)
		}
	}
}

func TestAPITokensOfTokens(t *testing.T) {
	tokens := []string{"[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]", ".", "*", ".c1ccc*cc1", "[C@@H]", "Cl"}
	v, err := molecules.ParseVocabulary(strings.Join(tokens, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := molecules.NewSAFE(v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := apiTokens(tokenizer), []int32{0, 0, 0, 0, 0, 2, 1, 11, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
