package chem

import (
	"context"
	"sync"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// maxPrepared is the number of prepared molecules that an editor keeps, at some 15 kB each. It has more only while more
// are in use.
const maxPrepared = 64

// Editor makes molecules by small changes of others, and keeps the parents prepared. If they are parents again, that
// saves a quarter (mutations) to a third (crossovers) of the work
// (scripts/train/experiments/2026-11-26-latent-search-chemistry.md). The zero value is ready to use. Any number of
// goroutines may use it before Close.
type Editor struct {
	mu       sync.Mutex
	uses     int                        // number of uses so far
	prepared map[string]*preparedParent // by SMILES as given
}

type preparedParent struct {
	smiles  string
	parent  *rdkit.Parent
	users   int // calls that use it now
	lastUse int // number of the last use
}

// Offspring returns the offspring of many parents, on all cores. The i-th result belongs to the i-th parents; parents
// that are not molecules within the limits have no offspring. The error is the error of ctx.
//
// A mutation is one small random change of the graph: an atom is replaced, added, inserted or deleted; two atoms are
// exchanged; the order of a bond changes; a ring is closed, opened, widened or narrowed; a substituent is added,
// replaced, deleted or moved. A crossover combines a part of each parent, cut at a single bond outside of rings
// (Jensen, Chem. Sci. 10, 3567, 2019).
//
// The offspring of one pair are distinct and differ from the parents. They have at most 60 heavy atoms unless a parent
// has more, and no more unpaired electrons or unlikely bonds (such as O-O, N-Cl, cumulated double bonds) than a parent.
// A change keeps the configurations of the atoms that it does not touch. Atoms that are not of organic chemistry or
// have an isotope or unpaired electrons stay as they are. There are fewer than Count if there are no more, or if more
// are hard to find.
//
// Canonical SMILES, counts and fingerprints are computed in advance.
func (e *Editor) Offspring(ctx context.Context, parents []Parents) ([][]*Molecule, error) {
	offspring := make([][]*Molecule, len(parents))
	weight := func(i int) int { return max(1, parents[i].limit()) }
	err := cores.Chunks(ctx, len(parents), weight, func(ctx context.Context, from, to int) error {
		for i := from; i < to && ctx.Err() == nil; i++ {
			offspring[i] = e.offspring(ctx, parents[i])
		}
		return ctx.Err()
	})
	return offspring, err
}

// Close frees the prepared parents.
func (e *Editor) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.evict(0)
}

func (e *Editor) offspring(ctx context.Context, p Parents) []*Molecule {
	first := e.acquire(p.First)
	if first == nil {
		return nil
	}
	defer e.release(first)
	if p.Second == "" {
		return p.offspring(ctx, first.parent, nil)
	}
	second := e.acquire(p.Second)
	if second == nil {
		return nil
	}
	defer e.release(second)
	return p.offspring(ctx, first.parent, second.parent)
}

// acquire returns a prepared parent, or nil if the text is not a molecule within the limits.
func (e *Editor) acquire(smiles string) *preparedParent {
	if p := e.lookUp(smiles, nil); p != nil {
		return p
	}
	text, err := Check(smiles)
	if err != nil {
		return nil
	}
	parent, err := rdkit.NewParent(text)
	if err != nil {
		return nil
	}
	return e.lookUp(smiles, parent)
}

// lookUp returns the prepared parent of a SMILES and counts a user. If there is none, it adds a new one, unless that is
// nil.
func (e *Editor) lookUp(smiles string, added *rdkit.Parent) *preparedParent {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.prepared[smiles]
	switch {
	case p == nil && added == nil:
		return nil
	case p == nil:
		p = &preparedParent{smiles: smiles, parent: added}
		if e.prepared == nil {
			e.prepared = map[string]*preparedParent{}
		}
		e.prepared[smiles] = p
	case added != nil: // another goroutine has prepared it in the meantime
		added.Free()
	}
	e.uses++
	p.users++
	p.lastUse = e.uses
	return p
}

func (e *Editor) release(p *preparedParent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p.users--
	e.evict(maxPrepared)
}

// evict frees the least recently used of the parents that are not in use, until no more than limit are left.
func (e *Editor) evict(limit int) {
	for len(e.prepared) > limit {
		var oldest *preparedParent
		for _, p := range e.prepared {
			if p.users == 0 && (oldest == nil || p.lastUse < oldest.lastUse) {
				oldest = p
			}
		}
		if oldest == nil {
			return
		}
		oldest.parent.Free()
		delete(e.prepared, oldest.smiles)
	}
}
