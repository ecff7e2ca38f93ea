package chem_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"retort/chem"
	"retort/chem/safe"
)

func parse(t testing.TB, smiles string) *chem.Molecule {
	t.Helper()
	m, err := chem.Parse(smiles)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The values are those of the authors of QED, from RDKit's tests.
func TestQEDPublished(t *testing.T) {
	for smiles, want := range map[string]float64{
		"N=C(CCSCc1csc(N=C(N)N)n1)NS(N)(=O)=O": 0.253,
		"CNC(=NCCSCc1nc[nH]c1C)NC#N":           0.234,
		"CCCCCNC(=N)NN=Cc1c[nH]c2ccc(CO)cc12":  0.234,
	} {
		if got := parse(t, smiles).QED(); math.Floor(got*1000)/1000 != want {
			t.Errorf("QED of %s = %v, want %v...", smiles, got, want)
		}
	}
}

func TestSyntaxPositions(t *testing.T) {
	for text, want := range map[string]int{
		"CCX":            2,
		"CC)C":           2,
		"CC(C":           2,
		"C1CC":           1,
		"C%12CC":         1,
		"CC==C":          3,
		"C=":             1,
		"=C":             0,
		"C..C":           2,
		"C.":             1,
		"CC[Zz]":         2,
		"CC[C@@@H]":      2,
		"C[CH3:]":        1,
		"CC()C":          3,
		"C11":            2,
		"C1C1":           3,
		"C(1)CC1":        2,
		"C-(C)C":         2,
		"C\x00C":         1,
		"CC\xff":         2,
		"C\u00b5":        1,
		"C foo":          1,
		"  C foo":        3,
		" \t\nCC(C ":     5,
		" C1CC\n":        2,
		"[Na":            0,
		"CC%1C":          2,
		"c1ccccc1C(=O)(": 13,
	} {
		_, err := chem.Parse(text)
		var syntax *chem.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if syntax.Position != want {
			t.Errorf("%q: position %d (%s), want %d", text, syntax.Position, syntax.Reason, want)
		}
	}
}

func TestErrorsNameAtoms(t *testing.T) {
	_, err := chem.Parse("[H]OCC[N](C)(C)(C)C")
	var valence *chem.ValenceError
	if !errors.As(err, &valence) {
		t.Fatal(err)
	}
	if valence.Atom != 4 || valence.Position != 6 || valence.Symbol != "[N]" {
		t.Errorf("atom %d at %d written %s, want 4 at 6 written [N]", valence.Atom, valence.Position, valence.Symbol)
	}
	_, err = chem.Parse("  CCc1cccn1")
	var kekulize *chem.KekulizeError
	if !errors.As(err, &kekulize) || kekulize.Position != 4 {
		t.Errorf("%v", err)
	}
}

// TestErrorsNameAtomsAsWritten has explicit hydrogens, which RDKit removes, before the invalid atom. RDKit, or our
// check of the valences that only newer versions refuse, finds the error.
func TestErrorsNameAtomsAsWritten(t *testing.T) {
	for text, want := range map[string]chem.ValenceError{
		" [H]OCC[N](C)(C)(C)C":        {Atom: 4, Position: 7, Symbol: "[N]"},
		"[H]C([H])CS[Al](F)(F)F":      {Atom: 5, Position: 11, Symbol: "[Al]"},
		"[H]OC[Si](F)(F)(F)F":         {Atom: 3, Position: 5, Symbol: "[Si]"},
		"[H]OCP(F)(F)(F)(F)F":         {Atom: 3, Position: 5, Symbol: "P"},
		" [H]N([H])[As](F)(F)(F)(F)F": {Atom: 3, Position: 10, Symbol: "[As]"},
	} {
		for name, read := range map[string]func(string) error{
			"Parse":           func(s string) error { _, err := chem.Parse(s); return err },
			"LargestFragment": func(s string) error { _, err := chem.LargestFragment(s); return err },
			"Evaluate": func(s string) error {
				results, _ := chem.Evaluate(t.Context(), []string{"C", s}, chem.NoFacts)
				return results[1].Err
			},
		} {
			var valence *chem.ValenceError
			err := read(text)
			if !errors.As(err, &valence) {
				t.Errorf("%s of %q: %v", name, text, err)
				continue
			}
			want.Text = text
			want.Reason = valence.Reason
			if *valence != want {
				t.Errorf("%s of %q: %+v, want %+v", name, text, *valence, want)
			}
		}
	}
}

// The valences are those of the newest RDKit, whichever version is linked.
func TestValencesOfNewerVersions(t *testing.T) {
	for smiles, valid := range map[string]bool{
		"O=[PH](Cl)(Cl)(Cl)Oc1ccccc1": false, "F[PH](F)(F)(F)F": false, "O=[AsH](Cl)(Cl)(Cl)C": false,
		"F[Si](F)(F)(F)F": false, "F[Al](F)(F)F": false, "OP(=O)(O)O": true, "F[P-](F)(F)(F)(F)F": true,
		"C[PH4+]": false, "C[P+](C)(C)C": true,
		"F[Al-3](F)(F)(F)(F)F": true, "FP(F)(F)(F)F": true, "C[As](=O)(O)O": true,
	} {
		_, err := chem.Parse(smiles)
		var valence *chem.ValenceError
		if refused := errors.As(err, &valence); refused == valid || valid && err != nil {
			t.Errorf("%s: %v", smiles, err)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{strings.Repeat("C", 200), nil},
		{strings.Repeat("C", 201), chem.ErrTooManyAtoms},
		{strings.Repeat("[CH2]", 102) + "CC", nil},
		{strings.Repeat("[CH2]", 103), chem.ErrTooLong},
		{"C" + strings.Repeat("1", 129), chem.ErrTooManyRings},
		{"", chem.ErrEmpty},
		{" \t\r\n", chem.ErrEmpty},
	} {
		_, err := chem.Parse(c.text)
		if !errors.Is(err, c.want) {
			t.Errorf("%d bytes: %v, want %v", len(c.text), err, c.want)
		}
	}
}

func TestBatchKeepsRowsApart(t *testing.T) {
	smiles := make([]string, 1000)
	for i := range smiles {
		smiles[i] = strings.Repeat("C", i%7+1)
		if i%10 == 3 {
			smiles[i] = "C1CC"
		}
	}
	results, err := chem.Evaluate(context.Background(), smiles, chem.FactLogP)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if (r.Err != nil) != (i%10 == 3) || (r.Molecule == nil) != (r.Err != nil) {
			t.Fatalf("row %d: %v, %v", i, r.Molecule, r.Err)
		}
		if r.Err == nil && r.Molecule.SMILES() != smiles[i] {
			t.Errorf("row %d is %s, want %s", i, r.Molecule, smiles[i])
		}
	}
}

func TestBatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	results, err := chem.Evaluate(ctx, []string{"C", "CC"}, chem.NoFacts)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for i, r := range results {
		if !errors.Is(r.Err, context.Canceled) || r.Molecule != nil {
			t.Errorf("row %d: %v, %v", i, r.Molecule, r.Err)
		}
	}
	if results, err := chem.Evaluate(context.Background(), nil, chem.NoFacts); len(results) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", results, err)
	}
}

// One molecule, many goroutines; run with -race.
func TestMoleculeIsShared(t *testing.T) {
	m := parse(t, "CC(C)Cc1ccc(cc1)C(C)C(=O)O")
	q, err := chem.FragmentQuery("C(=O)O")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				found, err := q.In(m)
				if m.QED() <= 0 || m.SA() <= 1 || m.Fingerprint() == (chem.Fingerprint{}) || !found || err != nil {
					t.Error("a goroutine got another result")
				}
				if _, err := safe.Encode(m.SMILES(), safe.EncodeOptions{}); err != nil {
					t.Error(err)
				}
				if _, err := (chem.Depiction{Highlight: q}).Draw(m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestScoresDoNotDependOnTheOrderAsked(t *testing.T) {
	for _, smiles := range []string{"C[C@H](O)[C@@H](O)C(F)Cl", "C/C=C/C(C)N", "[H][H]", "*c1ccccc1"} {
		first, last := parse(t, smiles), parse(t, smiles)
		sa := first.SA()
		qed := last.QED()
		if first.QED() != qed || last.SA() != sa && !math.IsNaN(sa) || first.SMILES() != last.SMILES() {
			t.Errorf("%s: %v %v %v %v", smiles, first.QED(), qed, last.SA(), sa)
		}
	}
}
