package search

import (
	"context"
	"math"
	"slices"

	"retort/chem"
)

const (
	// maxOversampling is how many times Particles a generation decodes at most, to make up for points that gave no new
	// text in earlier generations.
	maxOversampling = 6
	// editsPerChild is how many edits are made for a child, of which it gets the first that is a candidate.
	editsPerChild = 3
	// predictedEditsPerChild is how many are made if a surrogate chooses among them.
	predictedEditsPerChild = 8
)

// generation is one iteration: it decodes and scores points of CMA-ES and offspring, and the search learns from them.
func (o *optimizer) generation(ctx context.Context, iteration int) error {
	cmaPoints := o.run.Ask()
	count := o.offspringCount(iteration, len(cmaPoints))
	children, err := o.chooseEdits(ctx, o.population.plan(count, o.Model.TextTokens()))
	if err != nil {
		return err
	}
	outcome, err := o.evaluate(ctx, cmaPoints, children)
	if err != nil {
		return err
	}
	o.stagnation++
	if err := o.updatePopulation(ctx, outcome, len(cmaPoints), children); err != nil {
		return err
	}
	if err := o.tell(outcome.molecules[:len(cmaPoints)]); err != nil {
		return err
	}
	if o.run.ShouldStop() || o.stagnation >= patience {
		return o.restart(ctx)
	}
	return nil
}

// offspringCount is how many offspring an iteration makes beside the points of CMA-ES: as many as bring the evaluations
// to Particles per iteration so far if every text is new.
func (o *optimizer) offspringCount(iteration, cmaPoints int) int {
	evaluations := iteration*o.Particles - o.evaluator.evaluations
	return max(0, min(evaluations, maxOversampling*o.Particles)-cmaPoints)
}

// chooseEdits chooses the molecules of the children whose operators edit graphs, and puts the children that are not
// decoded last. An edit is chosen before anything is evaluated, since its similarity to the seed is known. A child none
// of whose edits is a candidate is dropped and counts against its operator like a repeated text; the next generation
// makes up for it.
func (o *optimizer) chooseEdits(ctx context.Context, children []offspring) ([]offspring, error) {
	each := editsPerChild
	if o.evaluator.surrogate.ready() {
		each = predictedEditsPerChild
		o.evaluator.surrogate.fit()
	}
	var parents []chem.Parents
	for _, child := range children {
		if start := operators[child.operator].start; start.editsGraph() {
			parents = append(parents, o.parentsOfEdits(start, child.parent, each))
		}
	}
	edits, err := o.editor.edit(ctx, parents)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	var decoded, direct []offspring
	for _, child := range children {
		by := &operators[child.operator]
		if by.editsGraph() {
			chosen := o.mostPromising(edits[0], taken)
			if chosen == nil {
				edits = edits[1:]
				o.population.selection.trials[child.operator] += repeatedTrial
				continue
			}
			child.smiles = chosen.smiles
			taken[child.smiles] = true
			edits = edits[1:]
		}
		if by.isDirect() {
			direct = append(direct, child)
			continue
		}
		if by.editsGraph() {
			if child.text, err = o.Model.Tokens(child.smiles); err != nil {
				return nil, err
			}
			child.smiles = ""
		}
		decoded = append(decoded, child)
	}
	return append(decoded, direct...), nil
}

// parentsOfEdits returns what an operator edits. If a crossover draws the same molecule twice, the molecule is edited.
func (o *optimizer) parentsOfEdits(start start, first *parent, count int) chem.Parents {
	p := chem.Parents{First: first.smiles, Count: count, Seed: o.Random.Uint64()}
	if start == graphCrossover {
		if second := o.population.draw(); second.smiles != first.smiles {
			p.Second = second.smiles
		}
	}
	return p
}

// isCandidate reports whether a variant is similar enough and has not been evaluated.
func (o *optimizer) isCandidate(v variant) bool {
	return v.similarity >= o.Goal.MinSimilarity && !o.evaluator.knows(v.smiles)
}

// mostPromising returns the candidate among the edits for which the surrogate predicts the highest fitness, or the
// first candidate while the surrogate is not ready; nil if there is none. Taken edits belong to other children.
func (o *optimizer) mostPromising(edits []variant, taken map[string]bool) (best *variant) {
	highest := math.Inf(-1)
	for i := range edits {
		v := &edits[i]
		if taken[v.smiles] || !o.isCandidate(*v) {
			continue
		}
		if !o.evaluator.surrogate.ready() {
			return v
		}
		features := featuresOf(v.smiles, &v.fingerprint)
		if predicted := o.evaluator.surrogate.predict(&features); predicted > highest {
			highest = predicted
			best = v
		}
	}
	return best
}

// outcome is what became of a generation's points: first those of CMA-ES, then the offspring.
type outcome struct {
	molecules []*Molecule // nil if the text is no molecule
	fresh     []bool      // whether no earlier point gave the same text
}

func (o *outcome) add(molecules []*Molecule, fresh []bool) {
	o.molecules = append(o.molecules, molecules...)
	o.fresh = append(o.fresh, fresh...)
}

// evaluate decodes the points of CMA-ES and the children, in batches that bound the memory, and scores them. Children
// that are not decoded come last.
func (o *optimizer) evaluate(
	ctx context.Context, cmaPoints [][]float64, children []offspring,
) (all outcome, err error) {
	points := make([]Point, len(cmaPoints), pointsAtOnce)
	for i, x := range cmaPoints {
		points[i].Hidden = o.Model.Space().colour(x)
	}
	firstDirect := slices.IndexFunc(children, func(c offspring) bool { return c.smiles != "" })
	if firstDirect < 0 {
		firstDirect = len(children)
	}
	children, direct := children[:firstDirect], children[firstDirect:]
	for len(points) > 0 || len(children) > 0 {
		count := min(len(children), max(0, pointsAtOnce-len(points)))
		childPoints, err := o.population.points(ctx, o.Model, children[:count])
		if err != nil {
			return all, err
		}
		molecules, fresh, err := o.decodeAndScore(ctx, append(points, childPoints...))
		if err != nil {
			return all, err
		}
		all.add(molecules, fresh)
		children = children[count:]
		points = points[:0]
	}
	texts := make([]string, len(direct))
	for i, child := range direct {
		texts[i] = child.smiles
	}
	molecules, fresh, err := o.scoreTexts(ctx, texts)
	all.add(molecules, fresh)
	return all, err
}

// decodeAndScore decodes points in one batch and scores their texts.
func (o *optimizer) decodeAndScore(
	ctx context.Context, points []Point,
) (molecules []*Molecule, fresh []bool, err error) {
	texts, err := o.Model.Decode(ctx, points)
	if err != nil {
		return nil, nil, err
	}
	return o.scoreTexts(ctx, texts)
}

// scoreTexts scores texts, and adds the molecules that meet the constraint to the hall of fame.
func (o *optimizer) scoreTexts(ctx context.Context, texts []string) (molecules []*Molecule, fresh []bool, err error) {
	molecules, fresh, err = o.evaluator.evaluate(ctx, texts)
	for _, m := range molecules {
		if m != nil && o.Goal.isMet(m) && !o.excluded[m.SMILES] {
			o.hallOfFame.add(m)
		}
	}
	return molecules, fresh, err
}

// updatePopulation credits the operators and admits new parents. A parent fitter than all that this run of CMA-ES was
// given is injected into it.
func (o *optimizer) updatePopulation(ctx context.Context, r outcome, cmaPoints int, children []offspring) error {
	o.population.credit(children, r.molecules[cmaPoints:], r.fresh[cmaPoints:], o.Goal.fitness)
	if err := o.population.admit(ctx, o.Model, r.molecules, o.Goal.fitness); err != nil {
		return err
	}
	fittest := o.population.parents[0]
	if fittest.fitness <= o.runBest {
		return nil
	}
	o.runBest = fittest.fitness
	o.stagnation = 0
	return o.run.Inject(o.Model.Space().whiten(fittest.hidden))
}

// tell gives CMA-ES the values of its points, lower being better.
func (o *optimizer) tell(molecules []*Molecule) error {
	values := make([]float64, len(molecules))
	for i, m := range molecules {
		values[i] = math.Inf(1)
		if m != nil {
			values[i] = -o.Goal.fitness(m)
		}
	}
	return o.run.Tell(values)
}
