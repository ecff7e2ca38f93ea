package chem_test

import (
	"fmt"
	"strings"
	"testing"
)

// worst returns inputs that are slow by design: shapes that take RDKit seconds without limits, in sizes at the limits.
func worst() map[string]string {
	repeat := strings.Repeat
	grid := func(n int, atom string) string { // n x n atoms, all neighbours bonded
		var s strings.Builder
		for row := range n {
			for column := range n {
				s.WriteString(atom)
				if row > 0 {
					fmt.Fprintf(&s, "%%%d", 10+column)
				}
				if row < n-1 {
					fmt.Fprintf(&s, "%%%d", 10+column)
				}
			}
			if row < n-1 {
				s.WriteString(".")
			}
		}
		return s.String()
	}
	complete := func(n int, atom string) string { // every atom bonded to every other
		var s strings.Builder
		for i := range n {
			s.WriteString(atom)
			for j := range n {
				if j != i && j != i-1 && j != i+1 {
					fmt.Fprintf(&s, "%%%d", 10+min(i, j)*n/2+max(i, j)%n)
				}
			}
		}
		return s.String()
	}
	acene := func(rings int, end string) string { // a row of fused aromatic rings
		back := ""
		s := "c%99ccc%10"
		for i := 11; i < 10+rings-1; i++ {
			s += fmt.Sprintf("cc%%%d", i)
			back = fmt.Sprintf("cc%%%d", i) + back
		}
		return s + "cccc" + back[2:] + "cc%10c%99" + end
	}
	return map[string]string{
		"acene":              acene(40, ""),
		"acene of odd atoms": acene(40, "c"),
		"chain":              repeat("C", 200),
		"chain of dummies":   repeat("*", 200),
		"peptide":            repeat("NCC(=O)", 28) + "O",
		"nested":             repeat("C(", 170) + "C" + repeat(")", 170),
		"digits":             "C" + repeat("1", 128),
		"rings in a row":     repeat("C1CC1", 40),
		"spiro":              "C1" + repeat("CC12", 1) + repeat("CC2", 1),
		"quaternary":         repeat("C(C)(C)", 65) + "C",
		"stereo":             repeat("[C@H](F)", 60) + "C",
		"double bonds":       "F" + repeat("/C=C", 99) + "/F",
		"components":         repeat("C.", 199) + "C",
		"salts":              repeat("[Na+].[Cl-].", 40) + "C",
		"phenyls":            repeat("c1ccccc1-", 33) + "C",
		"fused":              "c1ccc2" + repeat("cc3ccccc3c2", 1) + "c1",
		"acenes":             "C1=CC2=CC3=CC4=CC5=CC6=CC7=CC8=CC9=CC=CC=C9C=C8C=C7C=C6C=C5C=C4C=C3C=C2C=C1",
		"sulfurs":            repeat("S", 200),
		"cumulene":           "C" + repeat("=C", 199),
		"ethers":             repeat("CO", 100),
		"amides":             repeat("C(=O)N", 66) + "C",
		"branched":           repeat("CC(", 60) + "C" + repeat(")", 60),
		"hydrogens":          repeat("C([H])([H])", 43),
		"grid of dummies":    grid(8, "*"),
		"grid of uranium":    grid(6, "[U]"),
		"complete":           complete(5, "*"),
		"open positions":     repeat("*C", 60) + "*",
		"open numbers":       "C1C2C3C4C5C6C7C8C9C%10C%11C%12C%13C%14C%15C%16C%17C%18C%19C%20C%21C%22C%23C%24C%25",
		"long safe":          repeat("C1CCCCC1C2.C2C.", 25) + "C",
		"bracket safe":       repeat("c1<1>ccccc1.C<1>C.", 25) + "C",
		"macrocycle":         "C1" + repeat("C", 190) + "1",
		"dendrimer":          repeat("C(C(C)C)", 45) + "C",
		"fluorines":          repeat("C(F)(F)", 66) + "F",
		"phosphazene":        repeat("P(F)(F)=N", 49) + "P",
		"pattern any":        repeat("*~", 40) + "*",
		"pattern recursion":  repeat("[$(", 30) + "C" + repeat(")]", 30),
		"pattern recursions": repeat("[$(C~*~*~*),$(N~*~*)]~", 20) + "*",
		"cage":               "C12C3C4C1C5C2C3C45C12C3C4C1C5C2C3C45C12C3C4C1C5C2C3C45",
		"fullerene": "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c" +
			"9c4c4c9c%10c5c5c1c1c6c6c%11c2c2c7c3c3c8c4c4c9c5c1c1c6c2c3c41",
		"porphyrins": "c1cc2cc3ccc(cc4ccc(cc5ccc(cc1n2)[nH]5)n4)[nH]3." +
			"c1cc2cc3ccc(cc4ccc(cc5ccc(cc1n2)[nH]5)n4)[nH]3",
	}
}

// TestWorstCases checks the bound of fuzz_test.go for every call with the slowest inputs.
func TestWorstCases(t *testing.T) {
	for name, text := range worst() {
		most := 0
		which := 0
		for call := range calls {
			count := allocations(call, text)
			if count > maxAllocations {
				t.Errorf("%s: %s of %q allocates memory %d times", name, calls[call].name, text, count)
			}
			if count > most {
				most = count
				which = call
			}
		}
		t.Logf("%-20s %7d allocations in %s", name, most, calls[which].name)
		if most == 0 {
			t.Errorf("%s: no allocations were counted", name)
		}
	}
}

// The number of allocations measures work: it grows with the input and is reproducible.
func TestAllocationsCountWork(t *testing.T) {
	count := func(atoms int) int { return allocations(0, strings.Repeat("C", atoms)) }
	count(1) // reads the reference data
	small := count(20)
	large := count(200)
	if small == 0 || large < 5*small || count(200) != large {
		t.Errorf("%d allocations for 20 atoms, %d for 200, then %d", small, large, count(200))
	}
}
