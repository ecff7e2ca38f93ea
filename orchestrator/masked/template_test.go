package masked

import (
	"slices"
	"strings"
	"testing"

	"retort/chem"
	"retort/chem/smiles"
)

func TestParseTemplate(t *testing.T) {
	for _, c := range []struct {
		name, text string
		given      []string
		masks      []maskRange
	}{
		{
			"the documentation's SAFE", "C124CN3C1.S3(=O)(=O)CC.C4C#N.[*{20-20}]",
			[]string{"[2*]C1(CC#N)CN(S(=O)(=O)CC)C1"}, []maskRange{{20, 20}},
		},
		{
			"the documentation's fragment with a free valence", "[C@H]1O[C@@H](CO)[C@H](O)[C@@H]1O.[*{15-15}]",
			[]string{"*C1O[C@@H](CO)[C@H](O)[C@@H]1O"}, []maskRange{{15, 15}},
		},
		{"a mask alone", "[*{15-25}]", nil, []maskRange{{15, 25}}},
		{
			"several masks, any order", "[*{5-7}].c1ccccc1[*].[*{3-3}]",
			[]string{"*c1ccccc1"}, []maskRange{{5, 7}, {3, 3}},
		},
		{"plain SMILES", " CCO ", []string{"CCO"}, nil},
		{
			"open positions with the same number", "[16*]c1ccccc1.[16*]c1ccncc1",
			[]string{"[16*]c1ccccc1", "[16*]c1ccncc1"}, nil,
		},
		{"the bracket form", "c1<1>cc<2>ccc1.O<1>.[*{4-4}]", []string{"[3*]c1cccc(O)c1"}, []maskRange{{4, 4}}},
		{"a mask at the end of a fragment", "c1ccccc1[*{3-5}]", []string{"[1*]c1ccccc1"}, []maskRange{{3, 5}}},
		{
			"a mask between two fragments", "c1ccccc1[*{3-5}]C(=O)N",
			[]string{"[2*]C(N)=O", "[1*]c1ccccc1"}, []maskRange{{3, 5}},
		},
		{
			"masks among atoms and an open position", "[7*]CC([*{2-3}])C(N)[*{4-4}].[*{6-6}]",
			[]string{"[1*]CC([2*])C([3*])N"}, []maskRange{{2, 3}, {4, 4}, {6, 6}},
		},
		{"masks bonded to each other", "[*{3-3}][*{4-4}]", nil, []maskRange{{3, 3}, {4, 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseTemplate(c.text)
			if err != nil {
				t.Fatal(err)
			}
			sorted := func(list []string) []string {
				out := make([]string, len(list))
				for i, s := range list { // the numbers of open positions are arbitrary
					m, err := chem.Parse(smiles.ReplaceAtoms(s, unnumbered))
					if err != nil {
						t.Fatal(err)
					}
					out[i] = m.SMILES()
				}
				slices.Sort(out)
				return out
			}
			if !slices.Equal(sorted(got.given), sorted(c.given)) {
				t.Errorf("given: %q, want %q", got.given, c.given)
			}
			if !slices.Equal(got.masks, c.masks) {
				t.Errorf("masks: %v, want %v", got.masks, c.masks)
			}
		})
	}
}

// Errors list all problems of masks, with their positions.
func TestInvalidTemplates(t *testing.T) {
	for text, want := range map[string][]string{
		"":                               {"empty"},
		"CC.[*{9-3}]":                    {"character 4: ", "[*{9-3}]", "9, above its most, 3"},
		"CC.[*{0-3}]":                    {"at least 1 token"},
		"[*{5-99999}]":                   {"at most 1000"},
		"[*{5-99999999999999999999999}":  {`"[*{" is not closed`},
		"[*{5-99999999999999999999999}]": {"at most 1000"},
		"[*{a-b}]":                       {"not of the form [*{a-b}]"},
		"[*{5}]":                         {"not of the form"},
		"[*{-3-4}]":                      {"not of the form"},
		"CC.[*{5-5":                      {"character 4", "not closed"},
		"hello world":                    {"character 6", "not SMILES or SAFE"},
		"[*{5-5}].CC(C)(C)(C)C":          {"character 11", "valence"},
		"[*{5-5}].c1cccc1C(":             {"character", "not SMILES or SAFE"},
		"C..C":                           {"not SMILES or SAFE"},
		"[*{9-3}].CC.[*{x-3}]":           {"character 1: ", "above its most", "character 13: ", "not of the form"},
		"C1CC[*{3-3}]CC1":                {"single bonds outside of rings"},
		"C=[*{3-3}]":                     {"single bonds outside of rings"},
		strings.Repeat("C", 600):         {"too long"},
	} {
		_, err := parseTemplate(text)
		if err == nil {
			t.Errorf("%.40q is accepted", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%.40q: %q lacks %q", text, err, part)
			}
		}
	}
}

// unnumbered returns an atom, without its number if it is an open position.
func unnumbered(atom string) string {
	if _, dummy := smiles.Dummy(atom); dummy {
		return "*"
	}
	return atom
}

func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{
		"[*{15-25}]", "C1.[*{1-2}].[2*]C1", "c1ccccc1[*{3-5}]C", "[C@H]1O[C@@H](CO)C1", "[2U]C[*{1-1}]", "<1>C",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTemplate(text)
		if err == nil && len(got.given) != len(got.queries) {
			t.Errorf("%d fragments and %d queries", len(got.given), len(got.queries))
		}
	})
}
