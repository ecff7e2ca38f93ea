package synthesis

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"retort/chem"
	"retort/chem/cores"
	"retort/chem/rdkit"
	"retort/chem/smiles"
)

const (
	// MaxSteps is the upper bound of the steps of a route.
	MaxSteps = 3
	// maxExpansions bounds the time of one molecule. An expansion takes about 3 ms.
	maxExpansions = 40
	// maxAtoms is the upper bound of the atoms of a molecule that is planned.
	maxAtoms = 80
	// maxCached bounds the memory of a search: an expansion takes about 2 kB.
	maxCached = 20_000
)

// Planner finds routes. Any number of goroutines may use it.
type Planner struct {
	reactions *rdkit.Reactions
	templates []Template
	blocks    *Blocks
}

// NewPlanner returns a planner with the built-in templates.
func NewPlanner(blocks *Blocks) (*Planner, error) {
	compiled, err := reactions()
	if err != nil {
		return nil, err
	}
	return &Planner{reactions: compiled, templates: Templates(), blocks: blocks}, nil
}

// Step is a reaction of a route.
type Step struct {
	Reaction   string   `json:"reaction"`   // name
	Precursors []string `json:"precursors"` // SMILES
	Product    string   `json:"product"`    // SMILES
}

// Route is a synthesis.
type Route struct {
	// Steps are in the order of the synthesis. A building block has none.
	Steps []Step `json:"steps"`
	// BuildingBlocks are the distinct molecules that the synthesis starts from, as SMILES.
	BuildingBlocks []string `json:"building_blocks"`
}

// Search finds routes and keeps expansions, which similar molecules share. Any number of goroutines may use it.
type Search struct {
	planner *Planner
	mu      sync.Mutex
	cached  map[string][]rdkit.Precursors
}

// NewSearch returns a search without expansions.
func (p *Planner) NewSearch() *Search {
	return &Search{planner: p, cached: map[string][]rdkit.Precursors{}}
}

// Routes returns the route of each molecule, nil if none is found, on all cores: see Route. The error is the error of
// ctx.
func (s *Search) Routes(ctx context.Context, molecules []*chem.Molecule, maxSteps int) ([]*Route, error) {
	routes := make([]*Route, len(molecules))
	weight := func(int) int { return 16 } // so that a chunk has few molecules
	err := cores.Chunks(ctx, len(molecules), weight, func(ctx context.Context, from, to int) error {
		for i := from; i < to && ctx.Err() == nil; i++ {
			routes[i] = s.Route(molecules[i], maxSteps)
		}
		return ctx.Err()
	})
	return routes, err
}

// Route returns a route of at most maxSteps steps with the fewest steps, or nil if none is found: there is none, the
// molecule has more than 80 atoms or several components, or the search for it would take too long. Equal molecules have
// equal routes.
func (s *Search) Route(m *chem.Molecule, maxSteps int) *Route {
	if m == nil || m.HeavyAtoms() > maxAtoms {
		return nil
	}
	target, err := rdkit.Flat(m.SMILES())
	if err != nil {
		return nil
	}
	if s.planner.blocks.has(target) {
		return &Route{Steps: []Step{}, BuildingBlocks: []string{target}}
	}
	p := plan{search: s, nodes: map[string]*node{}}
	for steps := 1; steps <= min(maxSteps, MaxSteps); steps++ {
		if p.solve(target, steps) {
			return p.route(target)
		}
	}
	return nil
}

// expand returns the sets of precursors of a molecule, those that need the fewest and smallest intermediates first.
func (s *Search) expand(molecule string) []rdkit.Precursors {
	s.mu.Lock()
	sets, known := s.cached[molecule]
	s.mu.Unlock()
	if known {
		return sets
	}
	sets, err := s.planner.reactions.Precursors(molecule)
	if err != nil {
		sets = nil // RDKit cannot read its own SMILES
	}
	slices.SortStableFunc(sets, func(a, b rdkit.Precursors) int {
		return cmp.Compare(s.intermediateAtoms(a), s.intermediateAtoms(b))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cached) >= maxCached {
		clear(s.cached)
	}
	s.cached[molecule] = sets
	return sets
}

// intermediateAtoms counts the atoms of the precursors that are not building blocks.
func (s *Search) intermediateAtoms(set rdkit.Precursors) int {
	sum := 0
	for _, precursor := range set.SMILES {
		if !s.planner.blocks.has(precursor) {
			atoms, _ := smiles.Count(precursor)
			sum += atoms
		}
	}
	return sum
}

// plan is the search for the route of one molecule.
type plan struct {
	search     *Search
	expansions int // so far
	nodes      map[string]*node
}

// node is a molecule that is no building block.
type node struct {
	sets   []rdkit.Precursors
	failed int               // no route of at most this number of steps exists
	best   *rdkit.Precursors // of the shortest route; nil if none is known
	steps  int               // of the shortest route
}

// solve reports whether a molecule has a route of at most the given number of steps.
func (p *plan) solve(molecule string, steps int) bool {
	if p.search.planner.blocks.has(molecule) {
		return true
	}
	if steps == 0 {
		return false
	}
	n := p.nodes[molecule]
	if n == nil {
		if p.expansions == maxExpansions {
			return false
		}
		p.expansions++
		n = &node{sets: p.search.expand(molecule)}
		p.nodes[molecule] = n
	}
	if n.best != nil {
		return n.steps <= steps
	}
	for limit := n.failed + 1; limit <= steps; limit++ {
		for i := range n.sets {
			used, found := p.solveSet(n.sets[i].SMILES, limit-1)
			if found {
				n.best = &n.sets[i]
				n.steps = used + 1
				return true
			}
		}
		n.failed = limit
	}
	return false
}

// solveSet reports whether all precursors of a set can be made in at most the given number of steps together, and the
// number that they take.
func (p *plan) solveSet(set []string, steps int) (used int, found bool) {
	var missing []string
	for _, precursor := range set {
		if !p.search.planner.blocks.has(precursor) {
			missing = append(missing, precursor)
		}
	}
	if len(missing) > steps {
		return 0, false
	}
	for i, precursor := range missing {
		others := len(missing) - i - 1 // each takes a step at least
		if !p.solve(precursor, steps-used-others) {
			return 0, false
		}
		used += p.nodes[precursor].steps
	}
	return used, true
}

// route returns the route of a solved molecule.
func (p *plan) route(target string) *Route {
	r := &Route{Steps: []Step{}}
	made := map[string]bool{}
	var visit func(molecule string)
	visit = func(molecule string) {
		if made[molecule] {
			return
		}
		made[molecule] = true
		n := p.nodes[molecule]
		if n == nil {
			r.BuildingBlocks = append(r.BuildingBlocks, molecule)
			return
		}
		for _, precursor := range n.best.SMILES {
			visit(precursor)
		}
		name := p.search.planner.templates[n.best.Reaction].Name
		r.Steps = append(r.Steps, Step{Reaction: name, Precursors: n.best.SMILES, Product: molecule})
	}
	visit(target)
	return r
}
