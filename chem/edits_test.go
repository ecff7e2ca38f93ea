package chem_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"retort/chem"
	"retort/chem/cores/corestest"
)

// corpus returns the molecules of testdata.
func corpus(t testing.TB) (molecules []*chem.Molecule) {
	t.Helper()
	data, err := os.ReadFile("testdata/molecules.smi")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0][0] != '#' {
			if m, err := chem.Parse(fields[0]); err == nil {
				molecules = append(molecules, m)
			}
		}
	}
	return molecules
}

// checkOffspring checks the guarantees of [chem.Editor.Offspring].
func checkOffspring(t *testing.T, offspring []string, parents ...*chem.Molecule) {
	t.Helper()
	radicals := 0
	maxAtoms := 60
	seen := map[string]bool{}
	for _, p := range parents {
		seen[p.SMILES()] = true
		radicals = max(radicals, p.Radicals())
		maxAtoms = max(maxAtoms, p.HeavyAtoms())
	}
	for _, smiles := range offspring {
		m, err := chem.Parse(smiles)
		if err != nil || m.SMILES() != smiles || seen[smiles] {
			t.Errorf("%s of %v: duplicate %v, error %v", smiles, parents, seen[smiles], err)
			continue
		}
		seen[smiles] = true
		if m.Radicals() > radicals || m.HeavyAtoms() > maxAtoms {
			t.Errorf("%s of %v has %d radicals and %d atoms", smiles, parents, m.Radicals(), m.HeavyAtoms())
		}
	}
}

// offspring returns the SMILES of [chem.Editor.Offspring] and checks their facts.
func offspring(t *testing.T, parents ...chem.Parents) [][]string {
	t.Helper()
	all, err := chem.Offspring(t.Context(), parents)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([][]string, len(all))
	for i, molecules := range all {
		for _, m := range molecules {
			texts[i] = append(texts[i], m.SMILES())
		}
		read, err := chem.Evaluate(t.Context(), texts[i], chem.FactFingerprint)
		if err != nil {
			t.Fatal(err)
		}
		for k, m := range molecules {
			parsed := read[k].Molecule
			if parsed == nil {
				t.Errorf("%s: %v", m, read[k].Err)
				continue
			}
			if facts(m) != facts(parsed) || m.Fingerprint() != parsed.Fingerprint() {
				t.Errorf("%s: facts %v, want %v as parsed", m, facts(m), facts(parsed))
			}
		}
	}
	return texts
}

// facts returns the counts of a molecule that offspring have in advance, then its weight.
func facts(m *chem.Molecule) [4]float64 {
	return [4]float64{float64(m.HeavyAtoms()), float64(m.Rings()), float64(m.Radicals()), m.Weight()}
}

// mutations returns the SMILES of mutations.
func mutations(t *testing.T, smiles string, count int, seed uint64) []string {
	t.Helper()
	return offspring(t, chem.Parents{First: smiles, Count: count, Seed: seed})[0]
}

func TestMutationsAreMolecules(t *testing.T) {
	all := corpus(t)
	parents := make([]chem.Parents, len(all))
	for i, m := range all {
		parents[i] = chem.Parents{First: m.SMILES(), Count: 6, Seed: uint64(i)}
	}
	children := offspring(t, parents...)
	full := 0
	for i, m := range all {
		checkOffspring(t, children[i], m)
		if len(children[i]) == 6 {
			full++
		}
		dots := strings.Count(m.SMILES(), ".")
		if strings.Count(strings.Join(children[i], ""), ".") != dots*len(children[i]) {
			t.Errorf("%s: mutations have another number of components: %v", m, children[i])
		}
	}
	if full < len(all)*8/10 {
		t.Errorf("%d of %d molecules have six mutations", full, len(all))
	}
	if again := offspring(t, parents...); !reflect.DeepEqual(children, again) {
		t.Error("the same seeds give other mutations")
	}
}

func TestManyMutationsOfOneMolecule(t *testing.T) {
	const ibuprofen = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"
	children := mutations(t, ibuprofen, 400, 1)
	if len(children) != 400 {
		t.Fatalf("%d mutations", len(children))
	}
	checkOffspring(t, children, parse(t, ibuprofen))
	for _, want := range []string{
		"CC(C)Cc1ccc(C(C)C(N)=O)cc1", "CC(C)Cc1ccc(C(C)C(=O)O)nc1", "CC(C)Cc1cccc(C(C)C(=O)O)c1",
		"CCCc1ccc(C(C)C(=O)O)cc1", "COC(=O)C(C)c1ccc(CC(C)C)cc1",
	} {
		if !slices.Contains(children, parse(t, want).SMILES()) {
			t.Errorf("%s is not among 400 mutations of ibuprofen", want)
		}
	}
	if other := mutations(t, ibuprofen, 20, 2); slices.Equal(other, children[:20]) {
		t.Error("another seed gives the same mutations")
	}
}

// Atoms that a change does not touch keep their configuration, and so does the bearer of a replaced substituent.
func TestMutationsKeepConfigurations(t *testing.T) {
	for _, smiles := range []string{
		"C[C@H](N)C(=O)N[C@@H](C)c1ccc(F)cc1", "OC/C=C/c1ccccc1Cl", "C[C@@H](O)c1ccc(CN2CCOCC2)cc1",
		"CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O", "F[C@](Cl)(Br)CCN",
	} {
		children := mutations(t, smiles, 300, 5)
		if len(children) < 150 {
			t.Fatalf("%s: %d mutations", smiles, len(children))
		}
		configured := 0
		for _, text := range children {
			mirrored := parse(t, mirror(text)).SMILES()
			if mirrored != text && slices.Contains(children, mirrored) {
				t.Errorf("%s gives %s and its mirror image", smiles, text)
			}
			if strings.ContainsAny(text, "@/") {
				configured++
			}
		}
		if configured < len(children)*6/10 {
			t.Errorf("%s: %d of %d mutations have configurations", smiles, configured, len(children))
		}
	}
	for smiles, want := range map[string]string{
		"C[C@H](N)c1ccc(F)cc1": "N[C@H](c1ccc(F)cc1)C(F)(F)F", // CF3 replaces methyl
		"F[C@](Cl)(Br)CCN":     "F[C@](Cl)(Br)CN",
		"F[C@](Cl)(Br)CC":      "F[C@](Cl)(Br)OCC",
	} {
		children := mutations(t, smiles, 500, 5)
		want = parse(t, want).SMILES()
		if !slices.Contains(children, want) {
			t.Errorf("%s does not give %s", smiles, want)
		}
		if slices.Contains(children, parse(t, mirror(want)).SMILES()) {
			t.Errorf("%s gives the mirror image of %s", smiles, want)
		}
	}
}

// mirror returns the mirror image of a molecule.
func mirror(smiles string) string {
	return strings.NewReplacer("@@", "@", "@", "@@").Replace(smiles)
}

func TestMutationsOfTheConfiguration(t *testing.T) {
	children := offspring(t,
		chem.Parents{First: "CC(C)Cc1ccc(C(C)C(=O)O)cc1", Count: 10, Stereo: true},
		chem.Parents{First: "C[C@H](N)C(=O)O", Count: 10, Stereo: true},
		chem.Parents{First: "Cn1c(=O)c2c(ncn2C)n(C)c1=O", Count: 10, Stereo: true},
	)
	slices.Sort(children[0])
	want := [][]string{
		{"CC(C)Cc1ccc([C@@H](C)C(=O)O)cc1", "CC(C)Cc1ccc([C@H](C)C(=O)O)cc1"},
		{"C[C@@H](N)C(=O)O"},
		nil,
	}
	if !reflect.DeepEqual(children, want) {
		t.Errorf("%q, want %q", children, want)
	}
}

// Isotopes, ions and radicals stay as they are, and a salt stays a salt.
func TestMutationsOfOddMolecules(t *testing.T) {
	for smiles, part := range map[string]string{
		"[2H]C([2H])([2H])CCO": "[2H]",
		"CCC(=O)[O-].[Na+]":    "[Na+]",
		"CC[CH2]":              "[",
		"[13CH3]CCN":           "[13C",
		"CC[Si](C)(C)C":        "Si",
	} {
		children := mutations(t, smiles, 40, 3)
		if len(children) == 0 {
			t.Errorf("%s has no mutations", smiles)
		}
		checkOffspring(t, children, parse(t, smiles))
		count := 0
		for _, text := range children {
			if strings.Contains(text, part) {
				count++
			}
		}
		if count < len(children)*3/4 {
			t.Errorf("%d of %d mutations of %s have %s: %q", count, len(children), smiles, part, children)
		}
	}
	for _, smiles := range []string{"[Na+].[Cl-]", "[H][H]", "*"} {
		if children := mutations(t, smiles, 5, 1); len(children) > 0 {
			t.Errorf("%s: %v", smiles, children)
		}
	}
}

func TestCrossovers(t *testing.T) {
	all := corpus(t)
	parents := make([]chem.Parents, len(all))
	for i := range all {
		second := all[(i+1)%len(all)].SMILES()
		parents[i] = chem.Parents{First: all[i].SMILES(), Second: second, Count: 4, Seed: uint64(i)}
	}
	children := offspring(t, parents...)
	for i := range all {
		checkOffspring(t, children[i], all[i], all[(i+1)%len(all)])
	}
	found := offspring(t, chem.Parents{First: "Fc1ccccc1CN", Second: "O=C(O)C1CC1", Count: 100, Seed: 1})[0]
	for _, want := range []string{
		"Fc1ccccc1C1CC1", "Fc1ccccc1CC1CC1", "NC1CC1", "NCC1CC1", "NC(=O)O", "NCC(=O)O", "O=C(O)Cc1ccccc1F", "O=C(O)F",
		"O=C(O)c1ccccc1F", "FC1CC1",
	} {
		if !slices.Contains(found, want) {
			t.Errorf("%s is missing in %q", want, found)
		}
	}
}

func TestParentsThatAreNotMoleculesHaveNoOffspring(t *testing.T) {
	parents := []chem.Parents{
		{First: "not a molecule", Count: 10},
		{First: "C1CC", Count: 3},
		{First: "C1CC", Second: "CCC", Count: 3},
		{First: "CCC", Second: "C1CC", Count: 3},
		{First: strings.Repeat("C", 600), Count: 3},
		{First: "CCC", Second: strings.Repeat("C", 600), Count: 3},
		{First: "CCO"},
	}
	for i, children := range offspring(t, parents...) {
		if len(children) > 0 {
			t.Errorf("%+v: %v", parents[i], children)
		}
	}
}

func TestOffspringEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := chem.Offspring(ctx, []chem.Parents{{First: "CCO", Count: 3}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Searches for hydrogen bond donors must not be offered hydroxylamines and thiohydroxylamines.
func TestMutationsPutNoHydroxylOnNitrogen(t *testing.T) {
	odd := regexp.MustCompile(`N\([OS]\)|^[OS]N|N[OS]($|\))`)
	for _, smiles := range []string{"CCNCC", "CCN", "C1CCNCC1"} {
		children := mutations(t, smiles, 200, 5)
		if len(children) < 50 {
			t.Fatalf("%s: %d mutations", smiles, len(children))
		}
		for _, text := range children {
			if odd.MatchString(text) {
				t.Errorf("%s becomes %s", smiles, text)
			}
		}
	}
}

// Few parents with many offspring wait for a slot like any long batch. Few parents with few offspring do not.
func TestFewParentsOfManyMoleculesWaitForASlot(t *testing.T) {
	for name, c := range map[string]struct {
		parents []chem.Parents
		waits   bool
	}{
		"one of the most": {[]chem.Parents{{First: "CCO", Count: 1024}}, true},
		"one of more":     {[]chem.Parents{{First: "CCO", Count: 1 << 40}}, true},
		"two of nine":     {[]chem.Parents{{First: "CCO", Count: 9}, {First: "CCN", Count: 9}}, true},
		"one of sixteen":  {[]chem.Parents{{First: "CCO", Count: 16}}, false},
		"two of seven, one of none": {[]chem.Parents{
			{First: "CCO", Count: 7}, {First: "CCO", Count: -1}, {First: "CCN", Count: 7},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			free := corestest.TakeAll(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if c.waits {
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			}
			defer cancel()
			offspring, err := chem.Offspring(ctx, c.parents)
			if waited := errors.Is(err, context.DeadlineExceeded) && len(offspring[0]) == 0; waited != c.waits {
				t.Errorf("waited while all cores were taken: %v, error %v", waited, err)
			}
			free()
			if offspring, err := chem.Offspring(t.Context(), c.parents); err != nil || len(offspring[0]) == 0 {
				t.Errorf("afterwards: %v, %v", offspring, err)
			}
		})
	}
}
