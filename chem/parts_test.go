package chem_test

import (
	"strings"
	"testing"

	"retort/chem"
)

func TestHalves(t *testing.T) {
	halves, err := chem.Halves("CO", 5, 1)
	if err != nil || len(halves) != 1 || halves[0] != "[1*]C.[1*]O" {
		t.Errorf("%q, %v", halves, err)
	}
	if halves, err = chem.Halves("c1ccccc1", 5, 1); err != nil || len(halves) != 0 {
		t.Errorf("benzene: %q, %v", halves, err)
	}
}

func TestOpenPositions(t *testing.T) {
	opened, err := chem.OpenPositions("CC(F)(F)F", 3, 1)
	if err != nil || opened != "*CC(F)(F)F" {
		t.Errorf("%s, %v", opened, err)
	}
	if opened, err = chem.OpenPositions("c1cc[nH]c1", 9, 4); err != nil || strings.Count(opened, "*") != 5 {
		t.Errorf("%s, %v", opened, err)
	}
}
