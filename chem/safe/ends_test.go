package safe_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"retort/chem/safe"
)

func TestEnds(t *testing.T) {
	for smiles, want := range map[string][]string{
		"Cc1ccccc1":             nil,
		"*c1ccc(*)cc1":          {"c1ccc*cc1", "c1ccc*cc1"},
		"COc1ccccc1C(=O)N(C)C":  {"C*=O", "C*=O", "N(C)C", "OC", "c1ccccc1*", "c1ccccc1*"},
		"[3*]/C=C/C":            {"/C=C/C"},
		"[1*][C@H](N)C(=O)[2*]": {"C(=O)[C@H]*N", "[C@H](N)C*=O"},
	} {
		ends, err := safe.Ends(smiles, safe.BRICS)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for i, e := range ends {
			texts = append(texts, e.Text)
			if e.Across >= 0 && ends[e.Across].Across != i {
				t.Errorf("%s: end %d leads to %d, which leads to %d", smiles, i, e.Across, ends[e.Across].Across)
			}
			for _, o := range e.Others {
				if o == i || ends[o].Fragment != e.Fragment || len(ends[o].Others) != len(e.Others) {
					t.Errorf("%s: end %d has the other ends %v", smiles, i, e.Others)
				}
			}
		}
		slices.Sort(texts)
		if !slices.Equal(texts, want) {
			t.Errorf("%s: %q, want %q", smiles, texts, want)
		}
	}
}

func TestOpenPositionWithinFragment(t *testing.T) {
	for _, smiles := range []string{"c1ccccc1[*]c1ccccc1", "*1CCCCC1", "C=*=C", "C*.C*(C)C"} {
		if ends, err := safe.Ends(smiles, safe.BRICS); err == nil || !strings.Contains(err.Error(), "one bond") {
			t.Errorf("%s: %+v, %v", smiles, ends, err)
		}
	}
}

// TestEndsGolden compares with what scripts/golden/safe_nested.py wrote.
func TestEndsGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/ends.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(golden)) {
		smiles, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		ends, err := safe.Ends(smiles, safe.BRICS)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, e := range ends {
			texts = append(texts, "."+e.Text)
		}
		slices.Sort(texts)
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("%s: %s, want %s", smiles, got, want)
		}
	}
}
