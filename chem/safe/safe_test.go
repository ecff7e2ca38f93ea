package safe_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"retort/chem"
	"retort/chem/safe"
)

// corpus returns the valid molecules of the test data.
func corpus(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("../testdata/molecules.smi")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if m, err := chem.Parse(line); err == nil && len(line) > 0 {
			all = append(all, m.SMILES())
		}
	}
	if len(all) < 400 {
		t.Fatalf("only %d molecules", len(all))
	}
	return all
}

// bare returns a molecule without dummies and maps, as decoding does.
func bare(t *testing.T, smiles string) string {
	t.Helper()
	got, err := safe.Decode(smiles, safe.DecodeOptions{})
	if err != nil {
		return ""
	}
	return got
}

// The SAFE string is the same molecule with all options.
func TestSAFERoundTrip(t *testing.T) {
	options := []safe.EncodeOptions{
		{},
		{Brackets: true},
		{Slicer: safe.SingleBonds},
		{Slicer: safe.SingleBonds, Brackets: true},
		{Slicer: safe.Whole},
	}
	for _, smiles := range corpus(t) {
		want := bare(t, smiles)
		if want == "" || strings.Contains(smiles, "*") {
			continue // open positions are in TestOpenPositions
		}
		for _, o := range options {
			encoded, err := safe.Encode(smiles, o)
			if err != nil {
				t.Errorf("%s, %+v: %v", smiles, o, err)
				continue
			}
			got, err := safe.Decode(encoded, safe.DecodeOptions{Strict: true})
			if err != nil || got != want {
				t.Errorf("%s, %+v: %s is %s, %v", smiles, o, encoded, got, err)
			}
		}
	}
}

func TestOpenPositions(t *testing.T) {
	for _, c := range []struct{ in, safe, open string }{
		{"*c1ccccc1", "c12ccccc1", "[2*]c1ccccc1"},
		{"[5*]CC[9*]", "C1C2", "[1*]CC[2*]"},
		{"[*:3]C(=O)N[*:4].[*:7]C", "O=C3N2.C1", "[1*]C.[2*]NC([3*])=O"},
		{"C1*CC1", "C1*CC1", "*1CCC1"}, // a wildcard within the molecule is not an open position
	} {
		encoded, err := safe.Encode(c.in, safe.EncodeOptions{Slicer: safe.Whole})
		if err != nil || !equalPieces(encoded, c.safe) {
			t.Errorf("%s: %s, %v, want %s", c.in, encoded, err, c.safe)
		}
		open, err := safe.Decode(encoded, safe.DecodeOptions{KeepOpen: true})
		if err != nil || open != c.open {
			t.Errorf("%s: %s, %v, want %s", c.in, open, err, c.open)
		}
	}
	if _, err := safe.Encode("*.C", safe.EncodeOptions{}); err == nil {
		t.Error("a fragment of a dummy only was encoded")
	}
}

// equalPieces compares SAFE strings as molecules with open numbers.
func equalPieces(a, b string) bool {
	x, err1 := safe.Decode(a, safe.DecodeOptions{KeepOpen: true})
	y, err2 := safe.Decode(b, safe.DecodeOptions{KeepOpen: true})
	return err1 == nil && err2 == nil && x == y
}

func TestDecodeModes(t *testing.T) {
	const open = "c17ccccc1.C8=O"
	if got, err := safe.Decode(open, safe.DecodeOptions{}); err != nil || got != "C=O.c1ccccc1" {
		t.Errorf("lenient: %s, %v", got, err)
	}
	_, err := safe.Decode(open, safe.DecodeOptions{Strict: true})
	var syntax *chem.SyntaxError
	if !errors.As(err, &syntax) || syntax.Position != 2 {
		t.Errorf("strict: %v", err)
	}
	for text, want := range map[string]int{"\n " + open: 4, " C<1>.C<a> ": 7, " c17ccccc1.C7=O.C((": 18} {
		_, err := safe.Decode(text, safe.DecodeOptions{Strict: true})
		if !errors.As(err, &syntax) || syntax.Position != want {
			t.Errorf("position in %q: %v, want %d", text, err, want)
		}
	}
	for damaged, want := range map[string]string{
		"c17ccccc1.C7=O.X9":     "O=Cc1ccccc1",
		"c1<1>ccccc1.C<1>=O.((": "O=Cc1ccccc1",
		"c1<1>ccccc1.C<1=O":     "c1ccccc1",
		"c1ccccc1":              "c1ccccc1",
	} {
		if got, err := safe.Decode(damaged, safe.DecodeOptions{Repair: true}); err != nil || got != want {
			t.Errorf("repair of %s: %s, %v", damaged, got, err)
		}
	}
	if _, err := safe.Decode("X.Y", safe.DecodeOptions{Repair: true}); !errors.Is(err, chem.ErrEmpty) {
		t.Errorf("without a valid fragment: error %v, want ErrEmpty", err)
	}
}

func TestBracketNumbers(t *testing.T) {
	for encoded, want := range map[string]string{
		"C<1>.C<1>":                     "CC",
		"C<%10>.C<10>":                  "CC",
		"C<%(120)>.C<120>":              "CC",
		"C1CC1<1>.C1CC1<1>":             "C1CC1C1CC1",
		"[13CH3]<1>.[Fe+2].[15NH2]1.C1": "C[15NH2].[13CH4].[Fe+2]",
		"C->[Fe]":                       "C->[Fe]",
	} {
		if got, err := safe.Decode(encoded, safe.DecodeOptions{}); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", encoded, got, err, want)
		}
	}
	for _, encoded := range []string{"C<0>", "C<>", "C<a>", "C<1", "C1>", "C<-1>", "C<1000>", "<1>C"} {
		if got, err := safe.Decode(encoded, safe.DecodeOptions{}); err == nil {
			t.Errorf("%s: %s", encoded, got)
		}
	}
}
