package chem_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/chem"
)

var safeGolden = flag.String("safe", "",
	"folder with safe_golden_encode.tsv.gz and safe_golden_decode.tsv.gz of the reference")

func readTable(t *testing.T, name string) [][]string {
	t.Helper()
	if *safeGolden == "" {
		t.Skip("needs -safe, the folder of the reference's answers")
	}
	file, err := os.Open(filepath.Join(*safeGolden, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for lines := bufio.NewScanner(source); lines.Scan(); {
		rows = append(rows, strings.Split(lines.Text(), "\t"))
	}
	return rows[1:]
}

func canonical(t *testing.T, smiles string) string {
	t.Helper()
	c, err := chem.Canonical(smiles)
	if err != nil {
		t.Fatalf("%q: %v", smiles, err)
	}
	return c
}

// fragmentsOf is the fragments of a SAFE string as the golden file has them: sorted, with "*".
func fragmentsOf(t *testing.T, safe string) string {
	t.Helper()
	fragments, err := chem.SAFEFragments(safe)
	if err != nil {
		t.Fatalf("%q: %v", safe, err)
	}
	var all []string
	for _, f := range fragments {
		all = append(all, canonical(t, f.Unnamed))
	}
	slices.Sort(all)
	return strings.Join(all, ".")
}

// TestSAFEEncodeReference compares with SAFE strings made by the reference. The string may differ
// (another RDKit starts fragments at other atoms); the molecule and the fragments may not.
//
// The fragments column lists the pieces of all BRICS cuts. The reference itself does not make the
// cuts that lose a double bond's configuration, so where its own string has other fragments than
// that column, the string counts: these rows are logged as "keep a stereo bond".
func TestSAFEEncodeReference(t *testing.T) {
	same, keep := 0, 0
	rows := readTable(t, "safe_golden_encode.tsv.gz")
	for _, row := range rows {
		smiles, safe, flatSAFE, fragments := row[0], row[1], row[2], row[3]
		got, err := chem.EncodeSAFE(smiles, chem.EncodeOptions{RequireCut: true})
		if safe == "" {
			if !errors.Is(err, chem.ErrNoCut) {
				t.Errorf("%s: the reference finds no bond, got %q, %v", smiles, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", smiles, err)
			continue
		}
		if got == safe {
			same++
		}
		if back := decode(t, got); back != canonical(t, smiles) {
			t.Errorf("%s: encodes to %s, which is %s", smiles, got, back)
		}
		var want []string
		for f := range strings.SplitSeq(fragments, ".") {
			want = append(want, canonical(t, f))
		}
		slices.Sort(want)
		switch f := fragmentsOf(t, got); f {
		case strings.Join(want, "."):
		case fragmentsOf(t, safe):
			keep++
		default:
			t.Errorf("%s: fragments %s, want %s", smiles, f, strings.Join(want, "."))
		}
		compareFlat(t, smiles, flatSAFE)
	}
	t.Logf("%d rows, %d strings identical to the reference's, %d keep a stereo bond",
		len(rows), same, keep)
}

func compareFlat(t *testing.T, smiles, reference string) {
	t.Helper()
	got, err := chem.EncodeSAFE(smiles, chem.EncodeOptions{DropStereo: true})
	if err != nil {
		t.Fatalf("%s: %v", smiles, err)
	}
	if decode(t, got) != decode(t, reference) || fragmentsOf(t, got) != fragmentsOf(t, reference) {
		t.Errorf("%s without stereo: %s, want %s", smiles, got, reference)
	}
}

func decode(t *testing.T, safe string) string {
	t.Helper()
	smiles, err := chem.DecodeSAFE(safe, chem.DecodeOptions{})
	if err != nil {
		t.Fatalf("%q: %v", safe, err)
	}
	return smiles
}

// TestSAFEDecodeReference decodes whole and damaged SAFE strings as the reference does.
func TestSAFEDecodeReference(t *testing.T) {
	rows := readTable(t, "safe_golden_decode.tsv.gz")
	refused := 0
	for _, row := range rows {
		got, err := chem.DecodeSAFE(row[0], chem.DecodeOptions{})
		switch {
		case row[1] == "" && err == nil:
			t.Errorf("%s: the reference returns nothing, got %s", row[0], got)
		case row[1] == "":
			refused++
		case err != nil:
			t.Errorf("%s: %v, want %s", row[0], err, row[1])
		case got != canonical(t, row[1]):
			t.Errorf("%s: got %s, want %s", row[0], got, canonical(t, row[1]))
		}
	}
	t.Logf("%d rows, %d of them refused as by the reference", len(rows), refused)
}
