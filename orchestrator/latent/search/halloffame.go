package search

// hallOfFame keeps the best distinct molecules that meet the goal's constraint, best first. The seed is not among them.
type hallOfFame struct {
	goal *Goal
	size int // molecules at most
	best []*Molecule
}

// add takes a molecule in, unless it is one of those kept or worse than all of them and there is no room.
func (h *hallOfFame) add(m *Molecule) {
	place := len(h.best)
	for i := len(h.best) - 1; i >= 0; i-- {
		if h.best[i].SMILES == m.SMILES {
			return
		}
		if h.goal.better(m.Score, h.best[i].Score) {
			place = i
		}
	}
	if place == h.size {
		return
	}
	if len(h.best) == h.size {
		h.best = h.best[:h.size-1]
	}
	h.best = append(h.best, nil)
	copy(h.best[place+1:], h.best[place:])
	h.best[place] = m
}
