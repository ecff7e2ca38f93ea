package chem_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retort/chem"
	"retort/chem/cores"
)

// known are the molecules of testdata.
func known(t testing.TB) (molecules []*chem.Molecule) {
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

// checkOffspring holds what is promised of all offspring.
func checkOffspring(t *testing.T, made []string, parents ...*chem.Molecule) {
	t.Helper()
	radicals, most := 0, 60
	seen := map[string]bool{}
	for _, p := range parents {
		seen[p.SMILES()] = true
		radicals = max(radicals, p.Radicals())
		most = max(most, p.HeavyAtoms())
	}
	for _, smiles := range made {
		m, err := chem.Parse(smiles)
		if err != nil || m.SMILES() != smiles || seen[smiles] {
			t.Errorf("%s of %v: %v, there before %v", smiles, parents, err, seen[smiles])
			continue
		}
		seen[smiles] = true
		if m.Radicals() > radicals || m.HeavyAtoms() > most {
			t.Errorf("%s of %v has %d radicals and %d atoms", smiles, parents, m.Radicals(), m.HeavyAtoms())
		}
	}
}

// offspring are the texts of [chem.Offspring], whose facts must be those that are read from them.
func offspring(t *testing.T, parents []chem.Parents) ([][]string, error) {
	t.Helper()
	made, err := chem.Offspring(t.Context(), parents)
	if err != nil {
		return nil, err
	}
	texts := make([][]string, len(made))
	for i, some := range made {
		for _, m := range some {
			texts[i] = append(texts[i], m.SMILES())
		}
		read, err := chem.Evaluate(t.Context(), texts[i], chem.Options{Facts: chem.FactFingerprint})
		if err != nil {
			return nil, err
		}
		for k, m := range some {
			r := read[k].Molecule
			if r == nil || r.Fingerprint() != m.Fingerprint() || r.HeavyAtoms() != m.HeavyAtoms() || r.Rings() != m.Rings() ||
				r.LargestRing() != m.LargestRing() || r.Radicals() != m.Radicals() || m.Weight() != r.Weight() {
				t.Errorf("%s: its facts are not those of what is read from it (%v)", m, read[k].Err)
			}
		}
	}
	return texts, nil
}

func TestMutationsAreMolecules(t *testing.T) {
	all := known(t)
	parents := make([]chem.Parents, len(all))
	for i, m := range all {
		parents[i] = chem.Parents{First: m.SMILES(), Count: 6, Seed: uint64(i)}
	}
	made, err := offspring(t, parents)
	if err != nil {
		t.Fatal(err)
	}
	full := 0
	for i, m := range all {
		checkOffspring(t, made[i], m)
		if len(made[i]) == 6 {
			full++
		}
		if strings.Count(m.SMILES(), ".") != strings.Count(strings.Join(append(made[i], m.SMILES()), ""), ".")/(len(made[i])+1) {
			t.Errorf("%s has other numbers of components: %v", m, made[i])
		}
	}
	if full < len(all)*8/10 {
		t.Errorf("%d of %d molecules have six mutations", full, len(all))
	}
	again, err := offspring(t, parents)
	if err != nil || !reflect.DeepEqual(made, again) {
		t.Errorf("the same seeds give other mutations, %v", err)
	}
}

func TestManyMutationsOfOneMolecule(t *testing.T) {
	made, err := chem.Mutations("CC(C)Cc1ccc(C(C)C(=O)O)cc1", 400, 1)
	if err != nil || len(made) != 400 {
		t.Fatalf("%d, %v", len(made), err)
	}
	checkOffspring(t, made, parse(t, "CC(C)Cc1ccc(C(C)C(=O)O)cc1"))
	for _, want := range []string{
		"CC(C)Cc1ccc(C(C)C(N)=O)cc1", "CC(C)Cc1ccc(C(C)C(=O)O)nc1", "CC(C)Cc1cccc(C(C)C(=O)O)c1", "CCCc1ccc(C(C)C(=O)O)cc1",
		"COC(=O)C(C)c1ccc(CC(C)C)cc1",
	} {
		if !slices.Contains(made, parse(t, want).SMILES()) {
			t.Errorf("%s is not among 400 mutations of ibuprofen", want)
		}
	}
	if other, err := chem.Mutations("CC(C)Cc1ccc(C(C)C(=O)O)cc1", 20, 2); err != nil || slices.Equal(other, made[:20]) {
		t.Errorf("another seed gives the same, %v", err)
	}
}

// What a change does not touch keeps its configuration; so does the bearer of a substituent that is replaced.
func TestMutationsKeepConfigurations(t *testing.T) {
	for _, smiles := range []string{
		"C[C@H](N)C(=O)N[C@@H](C)c1ccc(F)cc1", "OC/C=C/c1ccccc1Cl", "C[C@@H](O)c1ccc(CN2CCOCC2)cc1",
		"CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O", "F[C@](Cl)(Br)CCN",
	} {
		made, err := chem.Mutations(smiles, 300, 5)
		if err != nil || len(made) < 150 {
			t.Fatalf("%s: %d, %v", smiles, len(made), err)
		}
		kept := 0
		for _, text := range made {
			mirrored := parse(t, mirror(text)).SMILES()
			if mirrored != text && slices.Contains(made, mirrored) {
				t.Errorf("%s gives %s and its mirror image", smiles, text)
			}
			if strings.ContainsAny(text, "@/") {
				kept++
			}
		}
		if kept < len(made)*6/10 {
			t.Errorf("%s: %d of %d mutations have configurations", smiles, kept, len(made))
		}
	}
	for smiles, want := range map[string]string{
		"C[C@H](N)c1ccc(F)cc1": "N[C@H](c1ccc(F)cc1)C(F)(F)F", // CF3 where the methyl was
		"F[C@](Cl)(Br)CCN":     "F[C@](Cl)(Br)CN",
		"F[C@](Cl)(Br)CC":      "F[C@](Cl)(Br)OCC",
	} {
		made, err := chem.Mutations(smiles, 500, 5)
		right := parse(t, want).SMILES()
		if err != nil || !slices.Contains(made, right) || slices.Contains(made, parse(t, mirror(want)).SMILES()) {
			t.Errorf("%s does not give %s, or its mirror image too (%d, %v)", smiles, right, len(made), err)
		}
	}
}

// mirror is the text of the mirror image of a molecule.
func mirror(smiles string) string {
	return strings.NewReplacer("@@", "@", "@", "@@").Replace(smiles)
}

func TestMutationsOfTheConfiguration(t *testing.T) {
	made, err := offspring(t, []chem.Parents{
		{First: "CC(C)Cc1ccc(C(C)C(=O)O)cc1", Count: 10, Stereo: true},
		{First: "C[C@H](N)C(=O)O", Count: 10, Stereo: true},
		{First: "Cn1c(=O)c2c(ncn2C)n(C)c1=O", Count: 10, Stereo: true},
		{First: "not a molecule", Count: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(made[0])
	want := [][]string{{"CC(C)Cc1ccc([C@@H](C)C(=O)O)cc1", "CC(C)Cc1ccc([C@H](C)C(=O)O)cc1"}, {"C[C@@H](N)C(=O)O"}, nil, nil}
	if !reflect.DeepEqual(made, want) {
		t.Errorf("%q", made)
	}
}

// Isotopes, ions and radicals stay as they are, and a salt stays a salt.
func TestMutationsOfOddMolecules(t *testing.T) {
	for smiles, kept := range map[string]string{
		"[2H]C([2H])([2H])CCO": "[2H]", "CCC(=O)[O-].[Na+]": "[Na+]", "CC[CH2]": "[", "[13CH3]CCN": "[13C", "CC[Si](C)(C)C": "Si",
	} {
		made, err := chem.Mutations(smiles, 40, 3)
		if err != nil || len(made) == 0 {
			t.Errorf("%s: %v, %v", smiles, made, err)
		}
		checkOffspring(t, made, parse(t, smiles))
		with := 0
		for _, text := range made {
			if strings.Contains(text, kept) {
				with++
			}
		}
		if with < len(made)*3/4 {
			t.Errorf("%d of %d mutations of %s have %s: %q", with, len(made), smiles, kept, made)
		}
	}
	for _, smiles := range []string{"[Na+].[Cl-]", "[H][H]", "*"} {
		if made, err := chem.Mutations(smiles, 5, 1); err != nil || len(made) > 0 {
			t.Errorf("%s: %v, %v", smiles, made, err)
		}
	}
}

func TestCrossovers(t *testing.T) {
	all := known(t)
	parents := make([]chem.Parents, len(all))
	for i := range all {
		parents[i] = chem.Parents{First: all[i].SMILES(), Second: all[(i+1)%len(all)].SMILES(), Count: 4, Seed: uint64(i)}
	}
	made, err := offspring(t, parents)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		checkOffspring(t, made[i], all[i], all[(i+1)%len(all)])
	}
	found, err := chem.Crossovers("Fc1ccccc1CN", "O=C(O)C1CC1", 100, 1)
	slices.Sort(found)
	want := []string{
		"Fc1ccccc1C1CC1", "Fc1ccccc1CC1CC1", "NC1CC1", "NCC1CC1", "NC(=O)O", "NCC(=O)O", "O=C(O)Cc1ccccc1F", "O=C(O)F", "O=C(O)c1ccccc1F", "FC1CC1",
	}
	for _, smiles := range want {
		if !slices.Contains(found, smiles) {
			t.Errorf("%s is missing in %q, %v", smiles, found, err)
		}
	}
}

func TestOffspringOfTextsThatAreNoMolecules(t *testing.T) {
	var syntax *chem.SyntaxError
	if _, err := chem.Mutations("C1CC", 3, 1); !errors.As(err, &syntax) {
		t.Errorf("%v", err)
	}
	if _, err := chem.Crossovers("CCC", "C1CC", 3, 1); !errors.As(err, &syntax) {
		t.Errorf("%v", err)
	}
	if _, err := chem.Mutations(strings.Repeat("C", 600), 3, 1); !errors.Is(err, chem.ErrTooLong) {
		t.Errorf("%v", err)
	}
	if made, err := chem.Mutations("CCO", 0, 1); err != nil || len(made) > 0 {
		t.Errorf("%v, %v", made, err)
	}
}

func TestOffspringEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := chem.Offspring(ctx, []chem.Parents{{First: "CCO", Count: 3}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A search that looks for hydrogen donors must not find them in hydroxylamines and thiohydroxylamines.
func TestMutationsPutNoHydroxylOnNitrogen(t *testing.T) {
	odd := regexp.MustCompile(`N\([OS]\)|^[OS]N|N[OS]($|\))`)
	for _, smiles := range []string{"CCNCC", "CCN", "C1CCNCC1"} {
		made, err := chem.Mutations(smiles, 200, 5)
		if err != nil || len(made) < 50 {
			t.Fatalf("%s: %d mutations, %v", smiles, len(made), err)
		}
		for _, text := range made {
			if odd.MatchString(text) {
				t.Errorf("%s becomes %s", smiles, text)
			}
		}
	}
}

// Few parents of many molecules wait for a core, as any long batch does; few of few do not.
func TestFewParentsOfManyMoleculesWaitForASlot(t *testing.T) {
	for name, c := range map[string]struct {
		parents []chem.Parents
		waits   bool
	}{
		"one of the most":           {[]chem.Parents{{First: "CCO", Count: chem.MaxOffspring}}, true},
		"one of more":               {[]chem.Parents{{First: "CCO", Count: 1 << 40}}, true},
		"two of nine":               {[]chem.Parents{{First: "CCO", Count: 9}, {First: "CCN", Count: 9}}, true},
		"one of sixteen":            {[]chem.Parents{{First: "CCO", Count: 16}}, false},
		"two of seven, one of none": {[]chem.Parents{{First: "CCO", Count: 7}, {First: "CCO", Count: -1}, {First: "CCN", Count: 7}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			free := takeCores(t)
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

// takeCores takes all cores until free is called.
func takeCores(t *testing.T) (free func()) {
	t.Helper()
	var running, ended sync.WaitGroup
	release := make(chan struct{})
	for range runtime.GOMAXPROCS(0) {
		running.Add(1)
		ended.Go(func() {
			_, err := cores.Run(t.Context(), func(context.Context) (struct{}, error) {
				running.Done()
				<-release
				return struct{}{}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	return func() {
		close(release)
		ended.Wait()
	}
}
