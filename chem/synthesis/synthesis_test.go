package synthesis_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"retort/chem"
	"retort/chem/synthesis"
)

// search returns a search with the given building blocks.
func search(t *testing.T, smiles ...string) *synthesis.Search {
	t.Helper()
	blocks, err := synthesis.ReadBlocks(t.Context(), strings.NewReader(strings.Join(smiles, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	planner, err := synthesis.NewPlanner(blocks)
	if err != nil {
		t.Fatal(err)
	}
	return planner.NewSearch()
}

func parse(t *testing.T, smiles string) *chem.Molecule {
	t.Helper()
	m, err := chem.Parse(smiles)
	if err != nil {
		t.Fatalf("%s: %v", smiles, err)
	}
	return m
}

// Each template finds the precursors of its example in one step.
func TestTemplates(t *testing.T) {
	for _, template := range synthesis.Templates() {
		t.Run(template.Name, func(t *testing.T) {
			product, reactants, _ := strings.Cut(template.Example, ">>")
			precursors := strings.Split(reactants, ".")
			route := search(t, precursors...).Route(parse(t, product), 1)
			if route == nil {
				t.Fatalf("no route to %s from %v", product, precursors)
			}
			var want []string
			for _, smiles := range precursors {
				want = append(want, parse(t, smiles).SMILES())
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, route.Steps[0].Precursors); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A template covers each of the published reactions.
func TestPublishedReactions(t *testing.T) {
	table, err := os.ReadFile("testdata/hartenfeller.tsv")
	if err != nil {
		t.Fatal(err)
	}
	reactions := 0
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		reactions++
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		product, precursors, _ := strings.Cut(fields[2], ">>")
		want := synthesis.Step{Reaction: fields[1], Precursors: strings.Split(precursors, "."), Product: product}
		steps, err := synthesis.Disconnect(product)
		found := slices.ContainsFunc(steps, func(s synthesis.Step) bool { return cmp.Equal(s, want) })
		if err != nil || !found {
			t.Errorf("%s: %v, %v lacks %v", fields[0], err, steps, want)
		}
	}
	if reactions != 58 {
		t.Errorf("%d reactions", reactions)
	}
}

// A substituent of a ring that is taken apart is in one of the precursors.
func TestSubstituentsStay(t *testing.T) {
	for _, smiles := range []string{"Cc1nnn(Cc2ccccc2)n1", "Cc1nnnn1Cc1ccccc1"} {
		steps, err := synthesis.Disconnect(smiles)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			if !strings.Contains(strings.Join(step.Precursors, "."), "c1ccccc1") {
				t.Errorf("%s: %v", smiles, step)
			}
		}
	}
}

func TestRoute(t *testing.T) {
	for _, c := range []struct {
		name   string
		target string
		blocks string
		want   []string // reactions
	}{
		{"imatinib's amide", "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1", "Cc1ccc(N)cc1 CN1CCNCC1 O=Cc1ccc(C(=O)O)cc1",
			[]string{"amide coupling", "reductive amination"}},
		{"lidocaine", "CCN(CC)CC(=O)Nc1c(C)cccc1C", "CCNCC O=CC(=O)O Nc1c(C)cccc1C",
			[]string{"amide coupling", "reductive amination"}},
		{"felbinac's amide", "O=C(Cc1ccc(-c2ccccc2)cc1)N1CCOCC1", "OB(O)c1ccccc1 O=C(O)Cc1ccc(Br)cc1 C1COCCN1",
			[]string{"Suzuki coupling", "amide coupling"}},
		{"a pyrrole", "Cc1ccc(C)n1Cc1ccc(C(=O)N2CCOCC2)cc1", "CC(=O)CCC(C)=O NCc1ccc(C(=O)O)cc1 C1COCCN1",
			[]string{"Paal-Knorr pyrrole synthesis", "amide coupling"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := search(t, strings.Fields(c.blocks)...)
			route := s.Route(parse(t, c.target), 3)
			if route == nil {
				t.Fatal("no route")
			}
			var reactions []string
			for _, step := range route.Steps {
				reactions = append(reactions, step.Reaction)
			}
			slices.Sort(reactions)
			if diff := cmp.Diff(c.want, reactions); diff != "" {
				t.Error(diff)
			}
			if last := route.Steps[len(route.Steps)-1].Product; last != parse(t, c.target).SMILES() {
				t.Errorf("the route makes %s", last)
			}
			checkOrder(t, route)
			if shorter := s.Route(parse(t, c.target), len(c.want)-1); shorter != nil {
				t.Errorf("a route of %d steps: %v", len(shorter.Steps), shorter)
			}
			again := search(t, strings.Fields(c.blocks)...).Route(parse(t, c.target), 3)
			if diff := cmp.Diff(route, again); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// checkOrder checks that each precursor is a building block or the product of an earlier step.
func checkOrder(t *testing.T, route *synthesis.Route) {
	t.Helper()
	have := slices.Clone(route.BuildingBlocks)
	for _, step := range route.Steps {
		for _, precursor := range step.Precursors {
			if !slices.Contains(have, precursor) {
				t.Errorf("%s is used before it is made", precursor)
			}
		}
		have = append(have, step.Product)
	}
}

func TestRouteOfBuildingBlock(t *testing.T) {
	route := search(t, "Cl.C[C@H](N)c1ccccc1 name").Route(parse(t, "C[C@@H](N)c1ccccc1"), 3)
	want := &synthesis.Route{Steps: []synthesis.Step{}, BuildingBlocks: []string{"CC(N)c1ccccc1"}}
	if diff := cmp.Diff(want, route); diff != "" {
		t.Error(diff)
	}
}

func TestNoRoute(t *testing.T) {
	s := search(t, "CO", "c1ccccc1")
	for _, smiles := range []string{
		"CC(=O)Nc1ccccc1",             // no such building blocks
		"C[Si](C)(C)C", "[Na+].[Cl-]", // no reaction
		"[2H]C([2H])([2H])O", "C[N+](C)(C)C", "[CH3]", "*CC(=O)NC",
		strings.Repeat("C", 190),
		"C1CC2CC1CC2C(=O)N1CC2(C1)CC1(CC1)C2",
	} {
		if route := s.Route(parse(t, smiles), 3); route != nil {
			t.Errorf("%s has a route: %v", smiles, route)
		}
	}
	if s.Route(nil, 3) != nil {
		t.Error("no molecule has a route")
	}
}

// A search gives the routes of a search that has seen no other molecule.
func TestRoutesAreIndependent(t *testing.T) {
	planner, err := synthesis.NewPlanner(synthesis.Default())
	if err != nil {
		t.Fatal(err)
	}
	var molecules []*chem.Molecule
	for _, smiles := range []string{
		"CC(C)Cc1ccc(C(C)C(=O)O)cc1", "CC(=O)Nc1ccc(O)cc1", "CN1CCN(C(=O)c2ccc(-c3ccccc3)cc2)CC1",
		"COc1ccc(CN2CCN(Cc3ccccc3)CC2)cc1", "O=C(NC1CCCCC1)c1ccc(Cn2cccn2)cc1", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
	} {
		molecules = append(molecules, parse(t, smiles))
	}
	shared := planner.NewSearch()
	routes, err := shared.Routes(t.Context(), molecules, 3)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, m := range molecules {
		alone := planner.NewSearch().Route(m, 3)
		if diff := cmp.Diff(alone, routes[i]); diff != "" {
			t.Errorf("%s: %s", m, diff)
		}
		if alone != nil {
			found++
			checkOrder(t, alone)
		}
	}
	if found == 0 {
		t.Error("no molecule has a route from the built-in building blocks")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shared.Routes(ctx, molecules, 3); err == nil {
		t.Error("a cancelled search has no error")
	}
}

func TestReadBlocks(t *testing.T) {
	blocks, err := synthesis.ReadBlocks(t.Context(), strings.NewReader("# comment\n\nCCO ethanol\nOCC\nCl.CN\n"))
	if err != nil || blocks.Len() != 2 {
		t.Errorf("%v, %v", blocks, err)
	}
	for text, want := range map[string]string{
		"":                                  "there is no building block",
		"CCO\nCC(C\n":                       `line 2, "CC(C": `,
		"# c\nC" + long("C") + "\n":         "line 2",
		"CCO\n" + strings.Repeat(" ", 5000): "line 2 is longer than 4096 bytes",
	} {
		_, err := synthesis.ReadBlocks(t.Context(), strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// long returns more atoms than a molecule may have.
func long(atom string) string { return strings.Repeat(atom, 1000) }

// The built-in building blocks are canonical, so that they are found.
func TestDefault(t *testing.T) {
	text := synthesis.DefaultSMILES()
	blocks, err := synthesis.ReadBlocks(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(blocks, synthesis.Default(), cmp.AllowUnexported(synthesis.Blocks{})); diff != "" {
		t.Error(diff)
	}
	if lines := strings.Count(text, "\n"); lines != blocks.Len() {
		t.Errorf("%d lines, %d building blocks", lines, blocks.Len())
	}
}
