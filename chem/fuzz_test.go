package chem_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"retort/chem"
	"retort/chem/rdkit/rdkittest"
	"retort/chem/safe"
)

// maxAllocations is the upper bound of the allocations in C++ of one call, for any input (see rdkittest). The slowest
// inputs of worst_test.go need up to 701,730, for a drawing that takes 30 ms, at most 0.9 µs each. 600,000 inputs of
// TestStress need up to 440,232.
const maxAllocations = 1_000_000

const allFacts = chem.FactFormula | chem.FactLogP | chem.FactTPSA | chem.FactQED | chem.FactSA | chem.FactFingerprint

// calls has one call of each function that reads a text.
var calls = []struct {
	name string
	do   func(text string)
}{
	{"Evaluate", func(s string) {
		o := allFacts
		if _, err := chem.Evaluate(context.Background(), []string{s}, o); err != nil {
			panic(err)
		}
	}},
	{"EncodeSAFE", func(s string) { safe.Encode(s, safe.EncodeOptions{}) }},
	{"EncodeSAFE with brackets", func(s string) {
		safe.Encode(s, safe.EncodeOptions{Slicer: safe.SingleBonds, Brackets: true})
	}},
	{"DecodeSAFE", func(s string) { safe.Decode(s, safe.DecodeOptions{}) }},
	{"DecodeSAFE strict", func(s string) { safe.Decode(s, safe.DecodeOptions{Strict: true}) }},
	{"DecodeSAFE repair", func(s string) { safe.Decode(s, safe.DecodeOptions{Repair: true}) }},
	{"DecodeSAFE open", func(s string) { safe.Decode(s, safe.DecodeOptions{KeepOpen: true}) }},
	{"SAFEEnds", func(s string) { safe.Ends(s, safe.BRICS) }},
	{"LargestFragment", func(s string) { chem.LargestFragment(s) }},
	{"SameScaffold", func(s string) { measure(chem.SameScaffold, s) }},
	{"OpenPositions", func(s string) { chem.OpenPositions(s, 3, 7) }},
	{"Halves", func(s string) { chem.Halves(s, 3, 7) }},
	{"Mutations", func(s string) { reproduce(chem.Parents{First: s, Count: 3, Seed: 7}) }},
	{"Crossovers", func(s string) {
		reproduce(chem.Parents{First: s, Second: "CC(C)Cc1ccc(cc1)C(C)C(=O)O", Count: 3, Seed: 7})
	}},
	{"Draw", func(s string) {
		if m, err := chem.Parse(s); err == nil {
			chem.Depiction{}.Draw(m)
		}
	}},
	{"FragmentQuery", func(s string) { search(chem.FragmentQuery(s)) }},
	{"PNG", func(s string) {
		if m, err := chem.Parse(s); err == nil {
			chem.PNG(m, 300, 250)
		}
	}},
	{"SMARTS", func(s string) { measure(chem.Contains, s) }},
}

// targets are molecules that patterns are searched in.
var targets = func() (all []*chem.Molecule) {
	for _, s := range []string{"CC(C)(C)c1ccc2c(c1)OCC(N)C2", "C12C3C4C1C5C2C3C45",
		"CCCCCCCCCCCCCCCCCCCCCCCCCCCCCC", "c1cc2ccc3cccc4ccc(c1)c2c34"} {
		m, err := chem.Parse(s)
		if err != nil {
			panic(err)
		}
		all = append(all, m)
	}
	return all
}()

func search(q *chem.Query, err error) {
	if err != nil {
		return
	}
	for _, m := range targets {
		q.In(m)
	}
}

// measure measures the targets one at a time, so that the work stays in this goroutine, where it is counted.
func measure(kind chem.MeasureKind, about string) {
	panel, err := chem.NewPanel(chem.Measure{Kind: kind, About: about})
	if err != nil {
		return
	}
	for _, m := range targets {
		if _, err := panel.Measure(context.Background(), []*chem.Molecule{m}); err != nil {
			panic(err)
		}
	}
}

func reproduce(parents chem.Parents) {
	if _, err := chem.Offspring(context.Background(), []chem.Parents{parents}); err != nil {
		panic(err)
	}
}

// allocations counts the allocations of one call.
func allocations(call int, text string) int {
	return rdkittest.Allocations(func() { calls[call].do(text) })
}

// exercise checks that a call is within the bound.
func exercise(t *testing.T, call int, text string) {
	t.Helper()
	call %= len(calls)
	if count := allocations(call, text); count > maxAllocations {
		t.Errorf("%s of %q allocates memory %d times", calls[call].name, text, count)
	}
}

// pieces are parts of molecules, from which nearly valid inputs are made.
var pieces = strings.Fields(`C C C C c c c N n O o S s P F Cl Br I B b * [nH] [C@H] [C@@H] [NH+] [O-] [N+]
	[2H] [H] [Na+] [1*] [*:2] [13C] [Si] [Se] [se] [Fe+2] [C@] [U] = # - : / \ ~ $ -> ( ) ( ) . . 1 1 2 2 3 4 5
	%10 %11 %(100) <1> <2> <%10> c1ccccc1 C1CC1 C(=O)N C(=O)O S(=O)(=O) /C=C/ c1ccncc1 N1CCOCC1 C(F)(F)F
	[*{5-9}] [#6] [!C] [R] [r5] [$(C=O)] & , ; ! @ [C,N] [CX4] [D2] [H1]`)

// spell concatenates the pieces with the numbers in code.
func spell(code []byte) string {
	var text strings.Builder
	for _, c := range code {
		text.WriteString(pieces[int(c)%len(pieces)])
	}
	return text.String()
}

func seeds(f *testing.F) []string {
	data, err := os.ReadFile("testdata/molecules.smi")
	if err != nil {
		f.Fatal(err)
	}
	all := []string{"\x00", "C\x00C", "\xff", "\u00b5", " ", "C foo", "C |$R$|", strings.Repeat("(", 300)}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

func FuzzSMILES(f *testing.F) {
	for i, s := range seeds(f) {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, call uint8, text string) { exercise(t, int(call), text) })
}

func FuzzSpelled(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 2, 40, 50, 70})
	f.Fuzz(func(t *testing.T, call uint8, code []byte) { exercise(t, int(call), spell(code)) })
}

func FuzzSAFE(f *testing.F) {
	for _, s := range []string{"c17ccccc1.C7=O", "c1<1>ccccc1.C<1>=O", "C<1>C.C<1", "N14CCC9CC1.c18ccc(Cl)cn1",
		"C%10.C%10", "C%(100).C%(100)", "C<%10>.C<10>", "C1.C1.C1", "[1*]C.[2*]C", "C.", ".C", "C<0>", "C<1000>"} {
		for call := range calls {
			f.Add(uint8(call), s)
		}
	}
	f.Fuzz(func(t *testing.T, call uint8, text string) {
		exercise(t, 3+int(call)%5, text)
		if smiles, err := safe.Decode(text, safe.DecodeOptions{}); err == nil {
			if _, err := chem.Parse(smiles); err != nil && len(smiles) <= 512 {
				t.Errorf("%q decodes to %q: %v", text, smiles, err)
			}
		}
	})
}

var stress = flag.Int("stress", 20000, "inputs for TestStress")
var stressSeed = flag.Uint64("stress-seed", 1, "seed for TestStress")

// TestStress calls all functions with nearly valid inputs, without the cost of the fuzzing engine:
//
//	nice -n 19 go test ./chem -run Stress -stress 10000000 -timeout 0 -v
func TestStress(t *testing.T) {
	random := rand.New(rand.NewPCG(*stressSeed, 2))
	data, err := os.ReadFile("testdata/molecules.smi")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(data))
	readable := 0
	for n := range *stress {
		text := nearlyRight(random, known)
		exercise(t, n, text)
		if n%16 == 0 {
			if _, err := chem.Parse(text); err == nil {
				readable++
			}
		}
		if n%1_000_000 == 999_999 {
			t.Logf("%d calls", n+1)
		}
	}
	t.Logf("%d calls with random input; %.0f %% of the inputs are molecules", *stress,
		100*float64(readable)/float64(*stress/16+1))
}

func nearlyRight(random *rand.Rand, known []string) string {
	if random.IntN(2) == 0 {
		code := make([]byte, 1+random.IntN(1+random.IntN(40)))
		for i := range code {
			code[i] = byte(random.Uint32())
		}
		return spell(code)
	}
	text := []byte(known[random.IntN(len(known))])
	for range random.IntN(4) {
		at := random.IntN(len(text) + 1)
		switch random.IntN(5) {
		case 0:
			text = text[:at]
		case 1:
			text = append(text[:at:at], append([]byte(pieces[random.IntN(len(pieces))]), text[at:]...)...)
		case 2:
			text = append(text, known[random.IntN(len(known))]...)
		case 3:
			if at < len(text) {
				text[at] = byte(random.Uint32())
			}
		case 4:
			if at < len(text) {
				text = append(text[:at:at], text[at+1:]...)
			}
		}
	}
	return string(text)
}
