package objective

import (
	"context"
	"errors"
	"math"

	"retort/chem"
	"retort/chem/synthesis"
	"retort/orchestrator/fault"
)

// Objective scores molecules. It is safe for concurrent use.
type Objective struct {
	root     group
	panel    *chem.Panel
	measured bool              // whether the panel has measures
	seen     *chem.Sample      // for the term novelty; nil if there is none
	routes   *synthesis.Search // for the term synthesis_steps; nil if there is none
	oracles  []*usedOracle
	known    *KnownScores // nil for none: see UseKnown
	front    *Front       // nil for none: see KeepFront
}

// Facts returns the facts that Score needs. It is faster to compute them for the whole batch in advance.
func (o *Objective) Facts() chem.Facts { return o.root.facts() }

// Unit returns the unit of the scores, which is positive.
func (o *Objective) Unit() float64 { return o.root.unit() }

// HasOracle reports whether a term is an oracle.
func (o *Objective) HasOracle() bool { return len(o.oracles) > 0 }

// IsTold reports whether the client of a job hands in scores and no term is an oracle of Triton, so that scoring
// molecules again asks nobody.
func (o *Objective) IsTold() bool { return len(o.oracles) == 1 && o.oracles[0].Name() == Told }

// OraclePath returns the path of the first term that is an oracle. There must be one.
func (o *Objective) OraclePath() []any { return o.oracles[0].path }

// Score returns one score per molecule. A score is NaN if a term of the molecule has no value. The error is the error
// of ctx or the *Failure of the first oracle that fails. With a *Failure, Score returns the scores of the molecules
// that all oracles had scored, NaN for the others.
func (o *Objective) Score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	if o.known != nil {
		itself := func(score float64) float64 { return score }
		return mergeKnown(o.known, molecules, math.NaN(), itself, func(unknown []*chem.Molecule) ([]float64, error) {
			return o.compute(ctx, unknown)
		})
	}
	return o.compute(ctx, molecules)
}

// compute is Score without known scores.
func (o *Objective) compute(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	if len(molecules) == 0 {
		return nil, nil
	}
	rows, err := o.inputs(ctx, molecules)
	if failure, ok := errors.AsType[*oracleFailure](err); ok {
		return o.partialScores(rows, failure.oracle, failure.outputs), failure.Failure
	}
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(rows))
	for i := range rows {
		scores[i] = o.root.value(&rows[i])
		if o.front != nil && !math.IsNaN(scores[i]) {
			o.front.add(&o.root, &rows[i])
		}
	}
	return scores, nil
}

// oracleFailure is the error of inputs if an oracle fails.
type oracleFailure struct {
	*Failure
	oracle  *usedOracle
	outputs [][]float64 // of the molecules that it had scored
}

// inputs returns the molecules with the inputs of all terms. If an oracle fails, the error is an *oracleFailure, and
// the rows have no outputs of this oracle and of those after it.
func (o *Objective) inputs(ctx context.Context, molecules []*chem.Molecule) ([]row, error) {
	rows := make([]row, len(molecules))
	for i, m := range molecules {
		rows[i].molecule = m
	}
	if o.seen != nil {
		distances, err := o.seen.Distances(ctx, molecules)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].novelty = distances[i]
		}
	}
	if o.routes != nil {
		routes, err := o.routes.Routes(ctx, molecules, synthesis.MaxSteps)
		if err != nil {
			return nil, err
		}
		for i, route := range routes {
			rows[i].steps = noRoute
			if route != nil {
				rows[i].steps = float64(len(route.Steps))
			}
		}
	}
	if o.measured {
		measures, err := o.panel.Measure(ctx, molecules)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].measures = measures[i]
		}
	}
	for _, oracle := range o.oracles {
		outputs, err := oracle.Score(ctx, molecules)
		if err != nil {
			return rows, &oracleFailure{&Failure{Name: oracle.Name(), Err: err}, oracle, outputs}
		}
		for i := range rows {
			rows[i].outputs = append(rows[i].outputs, outputs[i])
		}
	}
	return rows, nil
}

// partialScores returns the scores of the molecules that an oracle had scored before it failed, NaN for the others. If
// other oracles come after it, all scores are NaN.
func (o *Objective) partialScores(rows []row, failed *usedOracle, outputs [][]float64) []float64 {
	scores := make([]float64, len(rows))
	last := failed == o.oracles[len(o.oracles)-1]
	for i := range rows {
		scores[i] = math.NaN()
		if last && i < len(outputs) && outputs[i] != nil {
			rows[i].outputs = append(rows[i].outputs, outputs[i])
			scores[i] = o.root.value(&rows[i])
		}
		if o.front != nil && !math.IsNaN(scores[i]) {
			o.front.add(&o.root, &rows[i])
		}
	}
	return scores
}

// probe is aspirin, which every oracle should be able to score.
const probe = "CC(=O)Oc1ccccc1C(=O)O"

// Probe lets each oracle but Told score one molecule, to find a failing oracle before a long computation. The error is
// a fault.Invalid with the path of the term; if the oracle does not answer or is overloaded, or ctx ended, it has the
// kind of that, such as fault.Unavailable.
func (o *Objective) Probe(ctx context.Context) error {
	for _, oracle := range o.oracles {
		if oracle.Name() == Told { // aspirin would wait for a score
			continue
		}
		results, err := chem.Evaluate(ctx, []string{probe}, oracle.Facts())
		if err != nil {
			return err
		}
		_, err = oracle.Score(ctx, []*chem.Molecule{results[0].Molecule})
		if err == nil {
			continue
		}
		switch kind := fault.KindOf(err); {
		case kind == fault.Canceled || kind == fault.Overloaded || ctx.Err() != nil:
			return err
		case (kind == fault.Unavailable || kind == fault.Timeout) && !errors.Is(err, ErrBroken):
			return fault.Wrap(kind, err, "The term %q: %s", oracle.Name(), fault.As(err).Message)
		}
		return fault.Field("value_error", oracle.Name(), oracle.path,
			"Value error, the term %q: %s", oracle.Name(), fault.As(err).Message)
	}
	return nil
}

// group is a group of an opened objective.
type group struct {
	combine combination
	members []member
}

// member is a weighted term of a group.
type member struct {
	term
	weight   float64
	modifier *modifier // may be nil
}

func (m *member) modifiedValue(r *row) float64 {
	value := m.value(r)
	if m.modifier != nil {
		value = m.modifier.apply(value, m.unit)
	}
	return value
}

func (m *member) modifiedUnit() float64 {
	if m.modifier != nil {
		return m.modifier.unit(m.unit)
	}
	return m.unit
}

func (g *group) facts() (facts chem.Facts) {
	for _, m := range g.members {
		facts |= m.facts
	}
	return facts
}

// unit returns the largest weighted unit of the terms of a sum, or the weighted mean of the units of a mean.
func (g *group) unit() float64 {
	largest := 0.0
	sum := 0.0
	weights := 0.0
	for _, m := range g.members {
		unit := math.Abs(m.weight) * m.modifiedUnit()
		largest = math.Max(largest, unit)
		sum += unit
		weights += m.weight
	}
	if g.combine == weightedSum {
		return largest
	}
	return sum / weights
}

// value combines the terms of a molecule. It is NaN if a term is NaN or infinite, or if the result is infinite.
func (g *group) value(r *row) float64 {
	sum := 0.0
	weights := 0.0
	for i := range g.members {
		m := &g.members[i]
		value := m.modifiedValue(r)
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return math.NaN()
		}
		if g.combine == geometricMean {
			value = math.Log(math.Max(value, 0)) // -Inf for 0, which makes the mean 0
		}
		sum += m.weight * value
		weights += m.weight
	}
	result := sum
	switch g.combine {
	case arithmeticMean:
		result = sum / weights
	case geometricMean:
		result = math.Exp(sum / weights)
	}
	if math.IsInf(result, 0) { // the weights are too large
		return math.NaN()
	}
	return result
}
