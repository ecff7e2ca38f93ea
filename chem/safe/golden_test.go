package safe_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/chem"
	"retort/chem/safe"
)

var reference = flag.String("reference", "",
	"folder with all of the reference's answers, safe_golden_encode.tsv.gz and safe_golden_decode.tsv.gz; without it, the rows in testdata")

// readTable reads a table of the reference's answers, without its head: see scripts/golden/safe_reference.py.
func readTable(t *testing.T, name string) [][]string {
	t.Helper()
	path := filepath.Join("testdata", name+".tsv")
	if *reference != "" {
		path = filepath.Join(*reference, "safe_golden_"+name+".tsv.gz")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var source io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if source, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	var rows [][]string
	for lines := bufio.NewScanner(source); lines.Scan(); {
		rows = append(rows, strings.Split(lines.Text(), "\t"))
	}
	if len(rows) < 100 {
		t.Fatalf("%s: only %d rows", path, len(rows))
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
func fragmentsOf(t *testing.T, encoded string) string {
	t.Helper()
	fragments, err := safe.Fragments(encoded)
	if err != nil {
		t.Fatalf("%q: %v", encoded, err)
	}
	var all []string
	for _, f := range fragments {
		all = append(all, canonical(t, f.Unnamed))
	}
	slices.Sort(all)
	return strings.Join(all, ".")
}

// TestEncodeReference compares with SAFE strings made by the reference. The string may differ (another RDKit starts
// fragments at other atoms); the molecule and the fragments may not.
//
// The fragments column lists the pieces of all BRICS cuts. The reference itself does not make the cuts that lose a
// double bond's configuration, so where its own string has other fragments than that column, the string counts: these
// rows are logged as "keep a stereo bond".
func TestEncodeReference(t *testing.T) {
	same, keep := 0, 0
	rows := readTable(t, "encode")
	for _, row := range rows {
		smiles, encoded, flatSAFE, fragments := row[0], row[1], row[2], row[3]
		got, err := safe.Encode(smiles, safe.EncodeOptions{RequireCut: true})
		if encoded == "" {
			if !errors.Is(err, safe.ErrNoCut) {
				t.Errorf("%s: the reference finds no bond, got %q, %v", smiles, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", smiles, err)
			continue
		}
		if got == encoded {
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
		case fragmentsOf(t, encoded):
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
	got, err := safe.Encode(smiles, safe.EncodeOptions{DropStereo: true})
	if err != nil {
		t.Fatalf("%s: %v", smiles, err)
	}
	if decode(t, got) != decode(t, reference) || fragmentsOf(t, got) != fragmentsOf(t, reference) {
		t.Errorf("%s without stereo: %s, want %s", smiles, got, reference)
	}
}

func decode(t *testing.T, encoded string) string {
	t.Helper()
	smiles, err := safe.Decode(encoded, safe.DecodeOptions{})
	if err != nil {
		t.Fatalf("%q: %v", encoded, err)
	}
	return smiles
}

// TestDecodeReference decodes whole and damaged SAFE strings as the reference does.
func TestDecodeReference(t *testing.T) {
	rows := readTable(t, "decode")
	refused := 0
	for _, row := range rows {
		got, err := safe.Decode(row[0], safe.DecodeOptions{})
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
