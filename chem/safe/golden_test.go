package safe_test

import (
	"bufio"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/chem"
	"retort/chem/safe"
	"retort/chem/smiles"
)

var reference = flag.String("reference", "", "folder with all answers of the reference, safe_golden_encode.tsv.gz and "+
	"safe_golden_decode.tsv.gz; by default, the rows in testdata")

// readTable reads the rows of a table of the reference's answers: see scripts/golden/safe_reference.py.
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

func canonical(t *testing.T, text string) string {
	t.Helper()
	m, err := chem.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return m.SMILES()
}

// fragmentsOf returns the fragments of a SAFE string in the form of the golden file: sorted, with "*".
func fragmentsOf(t *testing.T, encoded string) string {
	t.Helper()
	var all []string
	for text := range strings.SplitSeq(encoded, ".") {
		fragment, err := safe.Decode(text, safe.DecodeOptions{KeepOpen: true})
		if err != nil {
			t.Fatalf("%q: %v", encoded, err)
		}
		unlabelled := smiles.ReplaceAtoms(fragment, func(atom string) string {
			if _, dummy := smiles.Dummy(atom); dummy {
				return "*"
			}
			return atom
		})
		all = append(all, canonical(t, unlabelled))
	}
	slices.Sort(all)
	return strings.Join(all, ".")
}

// TestEncodeReference compares SAFE strings with the reference's. The strings may differ, because another RDKit starts
// fragments at other atoms. The molecules and the fragments must be equal.
//
// The fragments column lists the fragments of all BRICS cuts. The reference does not make the cuts that lose the
// configuration of a double bond. If its string has other fragments than that column, the string is the expected
// result. These rows are logged as "keep a stereo bond".
func TestEncodeReference(t *testing.T) {
	same, keep := 0, 0
	rows := readTable(t, "encode")
	for _, row := range rows {
		molecule, encoded, fragments := row[0], row[1], row[3]
		got, err := safe.Encode(molecule, safe.EncodeOptions{})
		if encoded == "" {
			if err != nil || strings.Count(got, ".") != strings.Count(molecule, ".") {
				t.Errorf("%s: the reference finds no bond, got %q, %v", molecule, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", molecule, err)
			continue
		}
		if got == encoded {
			same++
		}
		if back := decode(t, got); back != canonical(t, molecule) {
			t.Errorf("%s: encodes to %s, which is %s", molecule, got, back)
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
			t.Errorf("%s: fragments %s, want %s", molecule, f, strings.Join(want, "."))
		}
		compareFlat(t, molecule, row[2])
	}
	t.Logf("%d rows, %d strings identical to the reference's, %d keep a stereo bond",
		len(rows), same, keep)
}

// compareFlat compares the encodings without stereo.
func compareFlat(t *testing.T, molecule, reference string) {
	t.Helper()
	got, err := safe.Encode(smiles.WithoutStereo(molecule), safe.EncodeOptions{})
	if err != nil {
		t.Fatalf("%s: %v", molecule, err)
	}
	if decode(t, got) != decode(t, reference) || fragmentsOf(t, got) != fragmentsOf(t, reference) {
		t.Errorf("%s without stereo: %s, want %s", molecule, got, reference)
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

// TestDecodeReference compares the decoding of valid and damaged SAFE strings with the reference.
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
