package chem_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"

	"retort/chem"
)

// ownMolecules are the molecules of the test data that are not refused.
func ownMolecules(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/molecules.smi")
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

// bare is a molecule with its dummies and maps gone, as decoding leaves it.
func bare(t *testing.T, smiles string) string {
	t.Helper()
	got, err := chem.DecodeSAFE(smiles, chem.DecodeOptions{})
	if err != nil {
		return ""
	}
	return got
}

// Whatever the options, the SAFE string is the molecule.
func TestSAFERoundTrip(t *testing.T) {
	options := []chem.EncodeOptions{
		{}, {Brackets: true}, {Slicer: chem.SingleBonds}, {Slicer: chem.Rotatable, Brackets: true},
		{ShuffleOrder: true, Seed: 1}, {Slicer: chem.SingleBonds, ShuffleAtoms: true, ShuffleOrder: true, Brackets: true, Seed: 2},
		{Slicer: chem.Whole},
	}
	for _, smiles := range ownMolecules(t) {
		want := bare(t, smiles)
		if want == "" || strings.Contains(smiles, "*") {
			continue // open positions are in TestOpenPositions
		}
		for _, o := range options {
			safe, err := chem.EncodeSAFE(smiles, o)
			if err != nil {
				t.Errorf("%s, %+v: %v", smiles, o, err)
				continue
			}
			got, err := chem.DecodeSAFE(safe, chem.DecodeOptions{Strict: true})
			if err != nil || got != want {
				t.Errorf("%s, %+v: %s is %s, %v", smiles, o, safe, got, err)
			}
		}
	}
}

func TestSAFESeeds(t *testing.T) {
	const smiles = "Cc1ccc(cc1Nc1nccc(n1)-c1cccnc1)NC(=O)c1ccc(cc1)CN1CCN(C)CC1"
	seen := map[string]bool{}
	for seed := range uint64(20) {
		o := chem.EncodeOptions{ShuffleOrder: true, ShuffleAtoms: true, Seed: seed}
		first, err := chem.EncodeSAFE(smiles, o)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := chem.EncodeSAFE(smiles, o); again != first {
			t.Errorf("seed %d gives %s and %s", seed, first, again)
		}
		seen[first] = true
	}
	if len(seen) < 15 {
		t.Errorf("20 seeds give %d strings", len(seen))
	}
}

func TestOpenPositions(t *testing.T) {
	for _, c := range []struct{ in, safe, open string }{
		{"*c1ccccc1", "c12ccccc1", "[2*]c1ccccc1"},
		{"[5*]CC[9*]", "C1C2", "[1*]CC[2*]"},
		{"[*:3]C(=O)N[*:4].[*:7]C", "O=C3N2.C1", "[1*]C.[2*]NC([3*])=O"},
		{"C1*CC1", "C1*CC1", "*1CCC1"}, // a wildcard in the structure is no open position
	} {
		safe, err := chem.EncodeSAFE(c.in, chem.EncodeOptions{Slicer: chem.Whole})
		if err != nil || !equalPieces(safe, c.safe) {
			t.Errorf("%s: %s, %v, want %s", c.in, safe, err, c.safe)
		}
		open, err := chem.DecodeSAFE(safe, chem.DecodeOptions{KeepOpen: true})
		if err != nil || open != c.open {
			t.Errorf("%s: %s, %v, want %s", c.in, open, err, c.open)
		}
	}
	if _, err := chem.EncodeSAFE("*.C", chem.EncodeOptions{}); err == nil {
		t.Error("a fragment of a dummy only was written")
	}
}

// equalPieces compares SAFE strings as molecules with open numbers.
func equalPieces(a, b string) bool {
	x, err1 := chem.DecodeSAFE(a, chem.DecodeOptions{KeepOpen: true})
	y, err2 := chem.DecodeSAFE(b, chem.DecodeOptions{KeepOpen: true})
	return err1 == nil && err2 == nil && x == y
}

func TestDecodeModes(t *testing.T) {
	const open = "c17ccccc1.C8=O"
	if got, err := chem.DecodeSAFE(open, chem.DecodeOptions{}); err != nil || got != "C=O.c1ccccc1" {
		t.Errorf("lenient: %s, %v", got, err)
	}
	_, err := chem.DecodeSAFE(open, chem.DecodeOptions{Strict: true})
	var syntax *chem.SyntaxError
	if !errors.As(err, &syntax) || syntax.Position != 2 {
		t.Errorf("strict: %v", err)
	}
	for damaged, want := range map[string]string{
		"c17ccccc1.C7=O.X9":     "O=Cc1ccccc1",
		"c1<1>ccccc1.C<1>=O.((": "O=Cc1ccccc1",
		"c1<1>ccccc1.C<1=O":     "c1ccccc1",
		"c1ccccc1":              "c1ccccc1",
	} {
		if got, err := chem.DecodeSAFE(damaged, chem.DecodeOptions{Repair: true}); err != nil || got != want {
			t.Errorf("repair of %s: %s, %v", damaged, got, err)
		}
	}
	if _, err := chem.DecodeSAFE("X.Y", chem.DecodeOptions{Repair: true}); !errors.Is(err, chem.ErrEmpty) {
		t.Errorf("nothing to keep: %v", err)
	}
}

func TestBracketNumbers(t *testing.T) {
	for safe, want := range map[string]string{
		"C<1>.C<1>":                     "CC",
		"C<%10>.C<10>":                  "CC",
		"C<%(120)>.C<120>":              "CC",
		"C1CC1<1>.C1CC1<1>":             "C1CC1C1CC1",
		"[13CH3]<1>.[Fe+2].[15NH2]1.C1": "C[15NH2].[13CH4].[Fe+2]",
		"C->[Fe]":                       "C->[Fe]",
	} {
		if got, err := chem.DecodeSAFE(safe, chem.DecodeOptions{}); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", safe, got, err, want)
		}
	}
	for _, safe := range []string{"C<0>", "C<>", "C<a>", "C<1", "C1>", "C<-1>", "C<1000>", "<1>C"} {
		if got, err := chem.DecodeSAFE(safe, chem.DecodeOptions{}); err == nil {
			t.Errorf("%s: %s", safe, got)
		}
	}
}

func TestHalves(t *testing.T) {
	halves, err := chem.Halves("CO", 5, 1)
	if err != nil || len(halves) != 1 || halves[0] != "[1*]C.[1*]O" {
		t.Errorf("%q, %v", halves, err)
	}
	if halves, err = chem.Halves("c1ccccc1", 5, 1); err != nil || len(halves) != 0 {
		t.Errorf("benzene: %q, %v", halves, err)
	}
	opened, err := chem.OpenPositions("CC(F)(F)F", 3, 1)
	if err != nil || opened != "*CC(F)(F)F" {
		t.Errorf("%s, %v", opened, err)
	}
	if opened, err = chem.OpenPositions("c1cc[nH]c1", 9, 4); err != nil || strings.Count(opened, "*") != 5 {
		t.Errorf("%s, %v", opened, err)
	}
}

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		fragment bool
		smiles   string
		want     bool
	}{
		{"C(=O)N", true, "CC(=O)NC", true},
		{"[1*]C(=O)N[2*]", true, "CC(=O)NC", true},
		{"C(=O)N", true, "CC(=O)OC", false},
		{"c1ccccc1", true, "C1CCCCC1", false},
		{"c1ccccc1.C#N", true, "N#Cc1ccccc1", true},
		{"[nH]1cccc1", true, "Cn1cccc1", true}, // hydrogens do not matter in a fragment
		{"C[N+](C)(C)C", true, "CN(C)C", false},
		{"[nH]", false, "Cn1cccc1", false},
		{"[#6]-;!@[#7;+]", false, "C[NH3+]", true},
		{"[$(c1ccccc1)]O", false, "Oc1ccccc1", true},
		{"[!#6;R]", false, "C1CCCCC1", false},
		{"C~*~*~N", false, "CCCN", true},
	} {
		make := chem.NewQuery
		if c.fragment {
			make = chem.FragmentQuery
		}
		q, err := make(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got, err := q.In(parse(t, c.smiles)); got != c.want || err != nil {
			t.Errorf("%s in %s: %v, %v", c.pattern, c.smiles, got, err)
		}
	}
	for _, bad := range []string{"", "C(", "[r5]", "[D{2-3}]", strings.Repeat("C", 201)} {
		if _, err := chem.NewQuery(bad); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// A path through all atoms of a cage is hard to find; the search must give up in time.
func TestQueryGivesUp(t *testing.T) {
	q, err := chem.NewQuery(strings.Repeat("*~", 47) + "[#7]")
	if err != nil {
		t.Fatal(err)
	}
	cage := parse(t, "C12C3C4C1C5C2C3C45.C1C2CC3CC1CC(C2)C3.N"+strings.Repeat(".C1C2CC3CC1CC(C2)C3", 3))
	fullerene := parse(t, worst()["fullerene"])
	for _, m := range []*chem.Molecule{cage, fullerene} {
		if found, err := q.In(m); found {
			t.Errorf("%v, %v", found, err)
		}
	}
	any, err := chem.NewQuery(strings.Repeat("c~", 59) + "[c;D2]")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := any.In(fullerene); found || err != nil && !errors.Is(err, chem.ErrTooComplex) {
		t.Errorf("%v, %v", found, err)
	}
}

func TestPictures(t *testing.T) {
	m := parse(t, "CC(=O)Oc1ccccc1C(=O)O")
	legend := "<script>alert('1 & 2')</script> \u00b5\u4e2d\x01\xff"
	svg, err := chem.Picture{Legends: []string{legend}}.Draw(m)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(svg, []byte("<script")) {
		t.Error("the legend is not escaped")
	}
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
	data, err := chem.Picture{PNG: true, Width: 120, Height: 80, Columns: 2}.Draw(m, m, m)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds().Dx() != 240 || picture.Bounds().Dy() != 160 {
		t.Errorf("%v, %v", picture.Bounds(), err)
	}
	if _, err := (chem.Picture{}).Draw(); !errors.Is(err, chem.ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := (chem.Picture{Width: 2000, Height: 2000}).Draw(m, m, m, m, m); err == nil {
		t.Error("80 million pixels were drawn")
	}
}
