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

func lengthsOf(t *testing.T, text string) (*lengths, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lengths.txt")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return readLengths(file)
}

// TestLengthsAreThoseOfTrainingMolecules draws published lengths, and tokens for a published length.
func TestLengthsAreThoseOfTrainingMolecules(t *testing.T) {
	l, err := lengthsOf(t, "8 40 3\n2 10 1 0\n12 41 1 1\n")
	if err != nil {
		t.Fatal(err)
	}
	l.worth = 4
	random := rand.New(rand.NewPCG(1, 2))
	published := map[int]int{}
	tokens := map[int]int{}
	for range 1000 {
		published[l.published(false, random)]++
		if n := l.published(true, random); n != 41 {
			t.Fatalf("a published length of %d for a molecule of quality", n)
		}
		tokens[l.tokens(40, false, random)]++
		if n := l.tokens(10, false, random); n != 2 {
			t.Fatalf("%d tokens for a published length of 10", n)
		}
		if n := l.tokens(40, true, random); n != 12 {
			t.Fatalf("%d tokens for a molecule of quality of a published length of 40", n)
		}
		if n := l.tokens(10, true, random); n != 2 { // none of quality is as long
			t.Fatalf("%d tokens for a molecule of quality of a published length of 10", n)
		}
		if n := l.tokens(100, false, random); n != 25 { // none is as long: by the worth of a token
			t.Fatalf("%d tokens for a published length of 100", n)
		}
	}
	if len(published) != 3 || published[40] < 500 || published[40] > 700 {
		t.Errorf("published lengths %v, want 10 and 41 in one of five each, 40 in three", published)
	}
	if len(tokens) != 2 || tokens[8] < 650 || tokens[8] > 850 {
		t.Errorf("tokens of 40: %v, want 8 in three of four, 12 in one", tokens)
	}
}

func TestLengthsWithoutPublishedOnesFollowFromTheWorth(t *testing.T) {
	l, err := lengthsOf(t, "8 1\n")
	if err != nil {
		t.Fatal(err)
	}
	l.worth = 2.5
	random := rand.New(rand.NewPCG(1, 2))
	if n := l.published(true, random); n != 20 {
		t.Errorf("published length %d, want 20", n)
	}
	if n := l.tokens(5, false, random); n != 2 {
		t.Errorf("%d tokens for a published length of 5, want 2", n)
	}
}

func TestBrokenLengthsAreRefused(t *testing.T) {
	for _, text := range []string{"", "8 40 x\n", "0 1\n", "8 0 3\n", "8 40 0\n", "8\n", "8 40 3 -1\n", "8 40 3 1 1\n"} {
		if _, err := lengthsOf(t, text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// TestRowsTellWhatIsWanted wants the tokens for quality and length in place of [BOS] and [EOS], of a model that has
// them.
func TestRowsTellWhatIsWanted(t *testing.T) {
	for want, conditions := range map[string][]string{
		"[QUALITY] C [LENGTH 4]": {"[QUALITY]", "[LENGTH 20]", "[LENGTH 4]"},
		"[BOS] C [EOS]":          nil,
	} {
		tokens := slices.Concat([]string{"[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]"}, conditions, []string{"C", ".", "*"})
		v, err := molecules.ParseVocabulary(strings.Join(tokens, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		tokenizer, err := molecules.NewSAFE(v)
		if err != nil {
			t.Fatal(err)
		}
		m := &tritonModel{SAFE: tokenizer, published: published(tokenizer)}
		c, _ := v.ID("C")
		row := m.Row([]int32{c}, Wanted{Quality: true, Published: 19})
		var text []string
		for _, id := range row {
			text = append(text, v.Token(id))
		}
		if got := strings.Join(text, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		plain := m.Row([]int32{c}, Wanted{Published: 1})
		if bos, eos := plain[0], plain[2]; bos != v.BOS || eos != v.EOS {
			t.Errorf("a row of which nothing is told begins with %d and ends with %d", bos, eos)
		}
		if text, err := m.Decode(row); err != nil || text != "C" {
			t.Errorf("the row reads %q, %v", text, err)
		}
	}
}

func TestPublishedLengthOfTokens(t *testing.T) {
	v, err := molecules.ParseVocabulary(strings.Join([]string{"[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]", ".", "*", ".c1ccc*cc1", "[C@@H]", "Cl"}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := molecules.NewSAFE(v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := published(tokenizer), []int32{0, 0, 0, 0, 0, 2, 1, 11, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
