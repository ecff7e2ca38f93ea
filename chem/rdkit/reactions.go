package rdkit

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// Reactions are compiled retrosynthetic templates. Any number of goroutines may use them.
type Reactions struct{ c *C.retort_reactions }

// NewReactions compiles reaction SMARTS, each from one product to its precursors.
func NewReactions(smarts []string) (*Reactions, error) {
	text, ends := join(smarts)
	var failure C.retort_answer
	c := C.retort_reactions_new(text, ends, C.int32_t(len(smarts)), &failure)
	if _, err := take(failure); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("rdkit: no reactions")
	}
	r := &Reactions{c: c}
	runtime.AddCleanup(r, func(c *C.retort_reactions) { C.retort_reactions_free(c) }, c)
	return r, nil
}

// Precursors are the molecules from which a reaction makes a product.
type Precursors struct {
	Reaction int      // index of the template
	SMILES   []string // canonical, without configurations, sorted
}

// Precursors returns the distinct sets of precursors of a molecule, in the order of the templates.
func (r *Reactions) Precursors(smiles string) ([]Precursors, error) {
	text, size := chars(smiles)
	lines, err := fields(C.retort_precursors(r.c, text, size))
	runtime.KeepAlive(r)
	if err != nil {
		return nil, err
	}
	all := make([]Precursors, len(lines)/2)
	for i := range all {
		reaction, err := strconv.Atoi(lines[2*i])
		if err != nil {
			return nil, fmt.Errorf("rdkit: %w", err)
		}
		all[i] = Precursors{Reaction: reaction, SMILES: strings.Split(lines[2*i+1], ".")}
	}
	return all, nil
}

// Flat returns the canonical SMILES without configurations.
func Flat(smiles string) (string, error) {
	text, size := chars(smiles)
	return take(C.retort_flat(text, size))
}
