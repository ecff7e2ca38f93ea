package chem_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"retort/chem"
)

// TestWhatChangedIsMarked counts the atoms marked in drawings of molecules beside the one they come from.
func TestWhatChangedIsMarked(t *testing.T) {
	const ibuprofen = "CC(Cc1ccc(cc1)C(C(=O)O)C)C"
	for _, c := range []struct {
		reference, molecule string
		marked              int
	}{
		{ibuprofen, ibuprofen, 0},
		{ibuprofen, "OC(=O)C(C)c1ccc(CC(C)C)cc1", 0},    // written otherwise
		{ibuprofen, "CC(C)Cc1ccc(C(C)C(N)=O)cc1", 1},    // N in the place of O
		{ibuprofen, "CC(C)Cc1ccc(C(C)C(=O)O)c(F)c1", 1}, // one atom more
		{ibuprofen, "CC(C)Cc1ccc(CC(=O)O)cc1", 1},       // one less: where it was
		{"c1ccccc1Oc1ccccc1", "c1ccccc1Sc1ccccc1", 1},   // in the middle: both sides are found
		{"CCCCCC", "c1ccccc1", 6},
		{"C", "C", 0},
		{"C[C@H](N)O", "C[C@@H](N)O", 0}, // stereo is not compared
	} {
		d := chem.Depiction{Reference: parse(t, c.reference)}
		drawn, err := d.Draw(parse(t, c.molecule))
		if err != nil || drawn.Marked != c.marked {
			t.Errorf("%s from %s: %d atoms are marked, not %d (%v)", c.molecule, c.reference, drawn.Marked, c.marked, err)
		}
		isXML(t, drawn.SVG)
	}
}

// TestGivenFragmentsAreMarked wants each of several fragments at atoms of its own.
func TestGivenFragmentsAreMarked(t *testing.T) {
	query, err := chem.FragmentQuery("*c1ccccc1.*c1ccccc1")
	if err != nil {
		t.Fatal(err)
	}
	for molecule, marked := range map[string]int{"c1ccccc1CCc1ccccc1": 12, "c1ccccc1CC": 0} {
		drawn, err := chem.Depiction{Highlight: query, Dark: true, Transparent: true}.Draw(parse(t, molecule))
		if err != nil || drawn.Marked != marked {
			t.Errorf("%s: %d atoms are marked, not %d (%v)", molecule, drawn.Marked, marked, err)
		}
		isXML(t, drawn.SVG)
	}
}

func isXML(t *testing.T, text []byte) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(string(text))); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
}

// TestComparisonIsBounded draws molecules made to be slow beside each other: some tens of milliseconds each.
func TestComparisonIsBounded(t *testing.T) {
	for name, text := range worst() {
		m, err := chem.Parse(text)
		if err != nil {
			continue
		}
		for _, other := range []string{text, "CC(Cc1ccc(cc1)C(C(=O)O)C)C", strings.Repeat("C", 200)} {
			if drawn, err := (chem.Depiction{Reference: parse(t, other)}).Draw(m); err != nil || len(drawn.SVG) == 0 {
				t.Errorf("%s beside %.20s: %v", name, other, err)
			}
		}
	}
}

// TestSDRecord wants a record of one molecule whatever its texts say.
func TestSDRecord(t *testing.T) {
	hostile := "a\n$$$$\n> <b>\r\nc"
	for _, text := range []string{"ethanol", hostile, "$$$$", ">  <b>"} {
		record, err := chem.SDRecord(parse(t, "OCC"), text, chem.Property{Name: text, Value: text}, chem.Property{Name: "empty"})
		if err != nil {
			t.Fatal(err)
		}
		ends, fields := 0, 0
		for line := range strings.SplitSeq(record, "\n") {
			if strings.HasPrefix(line, "$$$$") {
				ends++
			}
			if strings.HasPrefix(line, ">") {
				fields++
			}
		}
		if ends != 1 || fields != 1 || strings.Contains(record, "empty") || !strings.Contains(record, "V2000") {
			t.Errorf("%q makes\n%s", text, record)
		}
	}
	if _, err := chem.SDRecord(parse(t, "C"), ""); err != nil {
		t.Error(err)
	}
}
