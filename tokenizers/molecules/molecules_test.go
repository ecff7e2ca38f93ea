package molecules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const moleculeVocabulary = "[PAD]\n[BOS]\n[EOS]\n[UNK]\n[MASK]\n" +
	"C\nc\nN\nO\nBr\nCl\nF\n(\n)\n=\n#\n1\n2\n%10\n%(100)\n[C@@H]\n[nH]\n<1>\n<12>\n.\nB\n"

// tokenizer is implemented by SMILES and SAFE.
type tokenizer interface {
	Encode(text string) ([]int32, error)
	Decode(ids []int32) (string, error)
	Frame(ids []int32) []int32
	Token(id int32) string
}

// newTokenizers returns both tokenizers with moleculeVocabulary.
func newTokenizers(t testing.TB) (*SMILES, *SAFE) {
	t.Helper()
	v, err := ParseVocabulary(moleculeVocabulary)
	if err != nil {
		t.Fatal(err)
	}
	smiles, err := NewSMILES(v)
	if err != nil {
		t.Fatal(err)
	}
	safe, err := NewSAFE(v)
	if err != nil {
		t.Fatal(err)
	}
	return smiles, safe
}

func TestSMILES(t *testing.T) {
	smiles, safe := newTokenizers(t)
	for _, c := range []struct{ text, tokens string }{
		{"", ""},
		{"CC(=O)N", "C C ( = O ) N"},
		{"BrCCl", "Br C Cl"},
		{"BC", "B C"},
		{"C%10CC%10", "C %10 C C %10"},
		{"C%101", "C %10 1"},
		{"C%(100)C", "C %(100) C"},
		{"N[C@@H](F)C", "N [C@@H] ( F ) C"},
		{"c1c[nH]c2c1.C2", "c 1 c [nH] c 2 c 1 . C 2"},
	} {
		for _, l := range []tokenizer{smiles, safe} {
			ids, err := l.Encode(c.text)
			if err != nil {
				t.Fatalf("%q: %v", c.text, err)
			}
			var tokens []string
			for _, id := range ids {
				tokens = append(tokens, l.Token(id))
			}
			if got := strings.Join(tokens, " "); got != c.tokens {
				t.Errorf("%q: %s, want %s", c.text, got, c.tokens)
			}
			if decoded, err := l.Decode(l.Frame(ids)); err != nil || decoded != c.text {
				t.Errorf("%q is decoded to %q, %v", c.text, decoded, err)
			}
		}
	}
}

func TestRuns(t *testing.T) {
	v, err := ParseVocabulary("[PAD]\n[BOS]\n[EOS]\n[UNK]\nC\nCl\n(\n)\nCC\nCC(\nCCC\n")
	if err != nil {
		t.Fatal(err)
	}
	smiles, err := NewSMILES(v)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"CCCl": "CC Cl", "CC(CCCC)C": "CC( CCC C ) C", "CCC(": "CCC (", "CCCCl": "CCC Cl",
	} {
		ids, err := smiles.Encode(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var tokens []string
		for _, id := range ids {
			tokens = append(tokens, v.Token(id))
		}
		if got := strings.Join(tokens, " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if decoded, err := smiles.Decode(smiles.Frame(ids)); err != nil || decoded != text {
			t.Errorf("%q is decoded to %q, %v", text, decoded, err)
		}
	}
	var bad *TokenError
	if _, err := smiles.Encode("CCCNC"); !errors.As(err, &bad) || *bad != (TokenError{"N", 3, true}) {
		t.Errorf("CCCNC: error %+v", err)
	}
	if _, err := smiles.Encode("C[EOS]"); !errors.As(err, &bad) || *bad != (TokenError{"[EOS]", 1, true}) {
		t.Errorf("C[EOS]: error %+v", err)
	}
}

// TestSMILESGolden compares with the code of the training: scripts/golden/smiles_tokens.py.
func TestSMILESGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/smiles.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var tokens []string
	if err := json.Unmarshal(lines[0], &tokens); err != nil {
		t.Fatal(err)
	}
	v, err := ParseVocabulary(strings.Join(tokens, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	smiles, err := NewSMILES(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		var want struct {
			SMILES string
			IDs    []int32
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if ids, err := smiles.Encode(want.SMILES); err != nil || !slices.Equal(ids, want.IDs) {
			t.Errorf("%s: %v, %v, want %v", want.SMILES, ids, err, want.IDs)
		}
	}
}

func TestMoleculeErrors(t *testing.T) {
	smiles, safe := newTokenizers(t)
	for _, c := range []struct {
		text string
		safe bool
		want TokenError
	}{
		{"CCX", false, TokenError{"X", 2, false}},
		{"C[Xe]", false, TokenError{"[Xe]", 1, true}},
		{"CS", false, TokenError{"S", 1, true}},
		{"C[Xe", false, TokenError{"[", 1, false}},
		{"C[]", false, TokenError{"[", 1, false}},
		{"C%1", false, TokenError{"%", 1, false}},
		{"C%(1", false, TokenError{"%", 1, false}},
		{"C%()", false, TokenError{"%", 1, false}},
		{"C[EOS]C", false, TokenError{"[EOS]", 1, true}},
		{"C[MASK]C", false, TokenError{"[MASK]", 1, true}},
		{"C[UNK]C", true, TokenError{"[UNK]", 1, true}},
		{"C<1>", false, TokenError{"<", 1, false}},
		{"C<7>", true, TokenError{"<7>", 1, true}},
		{"C<1", true, TokenError{"<", 1, false}},
		{"CéC", true, TokenError{"é", 1, false}},
		{"C\x00", true, TokenError{"\x00", 1, false}},
		{"C\xff", true, TokenError{"\xff", 1, false}},
	} {
		var l tokenizer = smiles
		if c.safe {
			l = safe
		}
		_, err := l.Encode(c.text)
		var got *TokenError
		if !errors.As(err, &got) || *got != c.want {
			t.Errorf("%q: %+v, want %+v", c.text, err, c.want)
		} else if !strings.Contains(err.Error(), "position") {
			t.Errorf("%q: error %q does not name the position", c.text, err)
		}
	}
}

func TestSAFE(t *testing.T) {
	_, safe := newTokenizers(t)
	ids, err := safe.Encode("C<1>.N<12>[MASK]")
	want := []int32{5, 22, 24, 7, 23, safe.MASK}
	if err != nil || !slices.Equal(ids, want) {
		t.Fatalf("%v, %v, want %v", ids, err, want)
	}
	text, err := safe.Decode([]int32{safe.BOS, 5, safe.MASK, 22, safe.PAD, safe.EOS, 5, 5})
	if err != nil || text != "C<1>" {
		t.Errorf("%q, %v", text, err)
	}
	for _, id := range []int32{-1, int32(safe.Size())} {
		if _, err := safe.Decode([]int32{5, id}); err == nil {
			t.Errorf("Decode of id %d: no error", id)
		}
	}
}

// TestSAFERuns compares with golden files of scripts/golden/safe_nested.py, with tokens of several parts.
func TestSAFERuns(t *testing.T) {
	v, err := LoadVocabulary("testdata/safe/vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	safe, err := NewSAFE(v)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/safe/pieces.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(golden)), "\n")
	var joined strings.Builder
	var joinedIDs []string
	for _, line := range lines {
		text, want, _ := strings.Cut(line, "\t")
		ids, err := safe.Encode(text)
		if got := strings.Trim(fmt.Sprint(ids), "[]"); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
		if decoded, err := safe.Decode(ids); err != nil || decoded != text {
			t.Errorf("%s is decoded to %s, %v", text, decoded, err)
		}
		if strings.HasPrefix(text, ".") { // no token crosses a dot
			joined.WriteString(text)
			joinedIDs = append(joinedIDs, want)
		}
	}
	ids, err := safe.Encode(joined.String())
	if err != nil || strings.Trim(fmt.Sprint(ids), "[]") != strings.Join(joinedIDs, " ") {
		t.Errorf("the joined pieces have other tokens than each piece (%v)", err)
	}
	if len(lines) < 500 {
		t.Errorf("%d golden pieces, want at least 500", len(lines))
	}
}

func TestVocabularyErrors(t *testing.T) {
	for _, text := range []string{"", "C\n\nN\n", "C\nN\nC\n"} {
		if _, err := ParseVocabulary(text); err == nil {
			t.Errorf("ParseVocabulary(%q): no error", text)
		}
	}
	v, err := ParseVocabulary("[PAD]\r\n[BOS]\r\nC\r\n")
	if err != nil || v.PAD != 0 || v.BOS != 1 || v.EOS != -1 || v.Token(2) != "C" {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, err := NewSMILES(v); err == nil || !strings.Contains(err.Error(), "[EOS]") {
		t.Errorf("vocabulary without [EOS]: %v", err)
	}
	if _, err := LoadVocabulary("testdata/none.txt"); err == nil {
		t.Error("LoadVocabulary of a missing file: no error")
	}
}

func FuzzSMILES(f *testing.F) {
	for _, s := range []string{"CC(=O)N", "C%(100)[nH]", "<12>[MASK]", "[", "%", "<1"} {
		f.Add(s)
	}
	smiles, safe := newTokenizers(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range []tokenizer{smiles, safe} {
			ids, err := l.Encode(text)
			var bad *TokenError
			if errors.As(err, &bad) && !strings.HasPrefix(text[bad.Position:], bad.Token) {
				t.Errorf("%q: %+v", text, bad)
			}
			if err != nil || slices.Contains(ids, safe.MASK) {
				continue
			}
			if decoded, err := l.Decode(ids); err != nil || decoded != text {
				t.Errorf("%q is decoded to %q, %v", text, decoded, err)
			}
		}
	})
}

func TestWords(t *testing.T) {
	v, err := ParseVocabulary("[PAD]\nC\n[BOS]\n[EOS]\n[UNK]\nCl\n[MASK]\n[nH]\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.Words(), []int32{1, 5, 7}; !slices.Equal(got, want) {
		t.Errorf("words %v, want %v", got, want)
	}
}
