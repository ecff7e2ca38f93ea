package smiles_test

import (
	"fmt"
	"strings"
	"testing"

	"retort/chem/smiles"
)

// list returns the tokens of a text, with their kinds where these are not obvious.
func list(text string) string {
	var out []string
	for t := range smiles.Tokens(text) {
		written := t.In(text)
		switch t.Kind {
		case smiles.Ring:
			written += fmt.Sprintf("=ring %d", t.Number)
		case smiles.Attachment:
			written += fmt.Sprintf("=attachment %d", t.Number)
		case smiles.Other:
			written += "=other"
		}
		out = append(out, written)
	}
	return strings.Join(out, "  ")
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"CC(=O)N":               "C  C  (  =  O  )  N",
		"BrCClBC":               "Br  C  Cl  B  C",
		"N[C@@H](F)c1c[nH]cc1":  "N  [C@@H]  (  F  )  c  1=ring 1  c  [nH]  c  c  1=ring 1",
		"C%12C%(123)C%(12345)":  "C  %12=ring 12  C  %(123)=ring 123  C  %(12345)=ring 12345",
		"C%(123456)":            "C  %=other  (  1=ring 1  2=ring 2  3=ring 3  4=ring 4  5=ring 5  6=ring 6  )",
		"C%1":                   "C  %=other  1=ring 1",
		"C%()":                  "C  %=other  (  )",
		"C<1>.N<%12>.O<%(123)>": "C  <1>=attachment 1  .  N  <%12>=attachment 12  .  O  <%(123)>=attachment 123",
		"C<12>":                 "C  <12>=attachment 12",
		"C<>C<a>C<1":            "C  <=other  >=other  C  <=other  a=other  >=other  C  <=other  1=ring 1",
		"N->[Fe]<-N":            "N  ->  [Fe]  <-  N",
		`F/C=C\F`:               `F  /  C  =  C  \  F`,
		"C[":                    "C  [",
		"[]C]":                  "[]  C  ]=other",
		"*[12*][*:3]":           "*  [12*]  [*:3]",
		"C @+?>\x00":            "C   =other  @=other  +=other  ?=other  >=other  \x00=other",
		"[*{5-9}]":              "[*{5-9}]",
		"C:C~C$C#C-C":           "C  :  C  ~  C  $  C  #  C  -  C",
		"\u00b5":                "\xc2=other  \xb5=other",
		"c1cc1-c1cc1.[Na+]":     "c  1=ring 1  c  c  1=ring 1  -  c  1=ring 1  c  c  1=ring 1  .  [Na+]",
	} {
		if got := list(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestBrackets(t *testing.T) {
	for atom, want := range map[string]smiles.Bracket{
		"[13C@@H2+:7]": {Isotope: "13", Element: "C", Chirality: "@@", Hydrogens: "H2", Charge: "+", Map: ":7"},
		"[nH]":         {Element: "n", Hydrogens: "H"},
		"[Fe+2]":       {Element: "Fe", Charge: "+2"},
		"[Cu++]":       {Element: "Cu", Charge: "++"},
		"[C@TH1]":      {Element: "C", Chirality: "@TH1"},
		"[#6]":         {Element: "#6"},
		"[3*]":         {Isotope: "3", Element: "*"},
		"[H]":          {Element: "H"},
		"[HH]":         {Element: "H", Hydrogens: "H"},
	} {
		got, ok := smiles.ParseBracket(atom)
		if !ok || got != want || got.String() != atom {
			t.Errorf("%s: %+v, %v, want %+v", atom, got, ok, want)
		}
	}
	for _, atom := range []string{
		"", "C", "[", "[]", "[C", "C]", "[C@@@]", "[C,N]", "[C+-]", "[CH:]", "[!C]", "[*{5-9}]",
	} {
		if got, ok := smiles.ParseBracket(atom); ok {
			t.Errorf("%s is read as %+v", atom, got)
		}
	}
}

func TestDummies(t *testing.T) {
	for atom, want := range map[string]int{"*": 0, "[*]": 0, "[12*]": 12, "[*:3]": 0, "[1*:3]": 1} {
		if got, ok := smiles.Dummy(atom); !ok || got != want {
			t.Errorf("%s: %d, %v", atom, got, ok)
		}
	}
	for _, atom := range []string{"C", "[C]", "[*+]", "[*H]", "[*{5-9}]", ""} {
		if got, ok := smiles.Dummy(atom); ok {
			t.Errorf("%q is dummy %d", atom, got)
		}
	}
}

func TestWithoutStereo(t *testing.T) {
	for text, want := range map[string]string{
		"[C@@H]1<1>O[CH-][C@]1(F)C":    "C1<1>O[CH-]C1(F)C",
		`C/C=C\C<1>`:                   "CC=CC<1>",
		"[N@@H+]1CC1.[13C@H](C)N.[nH]": "[NH+]1CC1.[13CH](C)N.[nH]",
		"[S@](=O)(C)N<1>":              "S(=O)(C)N<1>",
		"[Si@](C)(F)Cl":                "[Si](C)(F)Cl",
		"N[C@@](F)(Cl)Br":              "NC(F)(Cl)Br",
		"[C@TH1H](F)(Cl)Br":            "C(F)(Cl)Br",
	} {
		if got := smiles.WithoutStereo(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	const text = "C1CC1<2>.[nH]2cc%12c2.[*:3]%12"
	atoms, closures := smiles.Count(text)
	if atoms != 8 || closures != 7 || smiles.HighestRing(text) != 12 {
		t.Errorf("%d atoms, %d closures, highest ring %d", atoms, closures, smiles.HighestRing(text))
	}
	atom, ok := smiles.AtomAt(text, 3)
	if !ok || atom.In(text) != "[nH]" || atom.Start != 9 {
		t.Errorf("atom 3 is %+v", atom)
	}
	for _, n := range []int{-1, 8} {
		if atom, ok := smiles.AtomAt(text, n); ok {
			t.Errorf("atom %d is %+v", n, atom)
		}
	}
	for n, want := range map[int]string{5: "5", 12: "%12", 123: "%(123)"} {
		if got := smiles.RingNumber(n); got != want {
			t.Errorf("ring number %d is written %s", n, got)
		}
	}
}

// TestLocate checks positions and reasons. Package chem has tests of texts that RDKit refuses.
func TestLocate(t *testing.T) {
	for text, want := range map[string]string{
		"CCX":       `2 unexpected "X"`,
		"C<1>":      `1 unexpected "<"`,
		"CC)C":      "2 a closing parenthesis without an opening one",
		"CC(C":      "2 a branch that is not closed",
		"C1CC2":     "1 ring closure 1 is not closed",
		"CC==C":     "3 a bond without an atom before it",
		"C=":        "1 a bond without an atom after it",
		"C(=)C":     "3 a bond without an atom after it",
		"C..C":      "2 a dot without an atom before it",
		"CC()C":     "3 an empty branch",
		"C11":       "2 ring closure 1 bonds an atom to itself",
		"C1C1":      "3 ring closure 1 duplicates a bond",
		"CC[Zz]":    `2 unknown element "Zz"`,
		"CC[C@@@H]": `2 bad bracket atom "[C@@@H]"`,
		"C[]":       `1 bad bracket atom "[]"`,
		"[Na":       "0 a bracket atom that is not closed",
		"C[#6]":     "-1 not accepted by RDKit's SMILES grammar",
	} {
		position, reason := smiles.Locate(text)
		if got := fmt.Sprint(position, " ", reason); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzTokens checks that every byte is in one token and that no function panics.
func FuzzTokens(f *testing.F) {
	for _, text := range []string{
		"CC(=O)N", "C%(100)[nH]", "<12>[*:3]", "[", "%", "<1", "C->[Fe]<-N", "[13C@@H2+:7]", "\xff<%(5)>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		rings := 0
		for token := range smiles.Tokens(text) {
			if token.Start != end || token.End <= token.Start {
				t.Fatalf("%q: token %+v after byte %d", text, token, end)
			}
			if token != smiles.Next(text, token.Start) {
				t.Fatalf("%q: %+v is another token by itself", text, token)
			}
			if token.Kind == smiles.Ring || token.Kind == smiles.Attachment {
				rings++
			}
			end = token.End
		}
		if end != len(text) {
			t.Fatalf("%q: the tokens end at byte %d", text, end)
		}
		if _, closures := smiles.Count(text); closures != rings {
			t.Errorf("%q: %d closures, want %d", text, closures, rings)
		}
		if position, reason := smiles.Locate(text); position >= len(text) || position < -1 || reason == "" {
			t.Errorf("%q: %d, %q", text, position, reason)
		}
		if same := smiles.ReplaceAtoms(text, func(atom string) string { return atom }); same != text {
			t.Errorf("%q becomes %q", text, same)
		}
		once := smiles.WithoutStereo(text)
		if strings.ContainsAny(once, `/\`) {
			t.Errorf("%q keeps a direction: %q", text, once)
		}
	})
}

// TestHostileTextIsReadInOnePass has texts in which every token could make the lexer scan all the rest, which would
// take hours.
func TestHostileTextIsReadInOnePass(t *testing.T) {
	const n = 1 << 20
	for _, text := range []string{
		strings.Repeat("[", n), strings.Repeat("[", n) + "C", "C]" + strings.Repeat("[", n), strings.Repeat("1", n),
		strings.Repeat("%(1", n), strings.Repeat("<1", n), "<" + strings.Repeat("1", n), "%(" + strings.Repeat("1", n),
		strings.Repeat("<%(", n), strings.Repeat("(", n), strings.Repeat("%", n),
	} {
		size := 0
		for token := range smiles.Tokens(text) {
			if token.Start != size {
				t.Fatalf("%.10q…: a token at %d after %d bytes", text, token.Start, size)
			}
			size = token.End
		}
		if size != len(text) {
			t.Errorf("%.10q…: %d of %d bytes", text, size, len(text))
		}
		smiles.Count(text)
		smiles.HighestRing(text)
	}
}
