package chem_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"

	"retort/chem"
)

// TestChangesAreMarked counts the marked atoms of molecules drawn with a reference.
func TestChangesAreMarked(t *testing.T) {
	const ibuprofen = "CC(Cc1ccc(cc1)C(C(=O)O)C)C"
	for _, c := range []struct {
		reference, molecule string
		marked              int
	}{
		{ibuprofen, ibuprofen, 0},
		{ibuprofen, "OC(=O)C(C)c1ccc(CC(C)C)cc1", 0},    // the same molecule
		{ibuprofen, "CC(C)Cc1ccc(C(C)C(N)=O)cc1", 1},    // N replaces O
		{ibuprofen, "CC(C)Cc1ccc(C(C)C(=O)O)c(F)c1", 1}, // an added atom
		{ibuprofen, "CC(C)Cc1ccc(CC(=O)O)cc1", 1},       // the neighbour of a removed atom
		{"c1ccccc1Oc1ccccc1", "c1ccccc1Sc1ccccc1", 1},   // both sides of the changed atom match
		{"CCCCCC", "c1ccccc1", 6},
		{"C", "C", 0},
		{"C[C@H](N)O", "C[C@@H](N)O", 0}, // stereo is not compared
	} {
		d := chem.Depiction{Reference: parse(t, c.reference)}
		drawn, err := d.Draw(parse(t, c.molecule))
		if err != nil || drawn.Marked != c.marked {
			t.Errorf("%s from %s: %d marked atoms, want %d (error %v)",
				c.molecule, c.reference, drawn.Marked, c.marked, err)
		}
		isXML(t, drawn.SVG)
	}
}

// TestGivenFragmentsAreMarked checks that equal fragments match different atoms.
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
			t.Fatalf("not XML: %v", err)
		}
	}
}

// TestComparisonIsBounded compares the slowest molecules, which take some tens of milliseconds each.
func TestComparisonIsBounded(t *testing.T) {
	for name, text := range worst() {
		m, err := chem.Parse(text)
		if err != nil {
			continue
		}
		for _, other := range []string{text, "CC(Cc1ccc(cc1)C(C(=O)O)C)C", strings.Repeat("C", 200)} {
			if drawn, err := (chem.Depiction{Reference: parse(t, other)}).Draw(m); err != nil || len(drawn.SVG) == 0 {
				t.Errorf("%s with reference %.20s: %v", name, other, err)
			}
		}
	}
}

// TestSDRecord checks that no text ends a record or starts a field.
func TestSDRecord(t *testing.T) {
	hostile := "a\n$$$$\n> <b>\r\nc"
	for _, text := range []string{"ethanol", hostile, "$$$$", ">  <b>"} {
		properties := []chem.Property{{Name: text, Value: text}, {Name: "empty"}}
		record, err := chem.SDRecord(parse(t, "OCC"), text, properties...)
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
			t.Errorf("the record of %q is\n%s", text, record)
		}
	}
	if _, err := chem.SDRecord(parse(t, "C"), ""); err != nil {
		t.Error(err)
	}
}

func TestPNG(t *testing.T) {
	m := parse(t, "CC(=O)Oc1ccccc1C(=O)O")
	for _, c := range []struct{ width, height, wantWidth, wantHeight int }{
		{0, 0, 300, 250},
		{120, 80, 120, 80},
		{1, 5000, 1, 2000},
	} {
		data, err := chem.PNG(m, c.width, c.height)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if size := picture.Bounds().Size(); size.X != c.wantWidth || size.Y != c.wantHeight {
			t.Errorf("%d x %d: the picture has the size %v", c.width, c.height, size)
		}
	}
}
