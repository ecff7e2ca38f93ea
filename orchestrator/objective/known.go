package objective

import (
	"context"
	"math"

	"retort/chem"
	"retort/orchestrator/fault"
)

// Known is a molecule that was evaluated before, such as an entry of evaluated in an earlier answer. Unknown members
// are ignored.
type Known struct {
	_ struct{} `bind:"open"`

	SMILES string   `json:"smiles" bind:"required"`
	Score  *float64 `json:"score" bind:"required,nullable"` // null: it has none, because its evaluation failed
}

// MaxKnown bounds the known molecules of a request.
const MaxKnown = 50_000

// CheckKnown returns what is wrong with the number and the texts of known molecules, under the member known.
func CheckKnown(known []Known) *fault.Error {
	var problems fault.Problems
	problems.Add(fault.Items(len(known), 0, MaxKnown, "known"))
	problems.AddEach(len(known), func(i int) *fault.Error { return fault.Text(known[i].SMILES, "known", i, "smiles") })
	return fault.As(problems.Err())
}

// KnownScores are the scores of known molecules.
type KnownScores struct {
	SMILES []string           // canonical and distinct, in the order of the request
	scores map[string]float64 // by canonical SMILES; NaN for none
}

// Has reports whether a molecule, given as canonical SMILES, is known.
func (k *KnownScores) Has(smiles string) bool {
	_, ok := k.scores[smiles]
	return ok
}

// Score returns the score of a known molecule, NaN if it has none.
func (k *KnownScores) Score(smiles string) float64 { return k.scores[smiles] }

// ReadKnown reads known molecules. If one is in the list twice, its last score counts. A text that is not a molecule is
// Invalid, or skipped.
func ReadKnown(ctx context.Context, known []Known, skipInvalid bool) (*KnownScores, error) {
	k := &KnownScores{scores: map[string]float64{}}
	texts := make([]string, len(known))
	for i := range known {
		texts[i] = known[i].SMILES
	}
	results, err := chem.Evaluate(ctx, texts, chem.NoFacts)
	if err != nil {
		return nil, err
	}
	var problems fault.Problems
	for i, r := range results {
		if r.Err != nil {
			if !skipInvalid {
				problems.Add(fault.Field("value_error", fault.Clip(texts[i]), []any{"known", i, "smiles"},
					"Value error, not a valid SMILES: %v", r.Err))
			}
			continue
		}
		smiles := r.Molecule.SMILES()
		if !k.Has(smiles) {
			k.SMILES = append(k.SMILES, smiles)
		}
		k.scores[smiles] = math.NaN()
		if known[i].Score != nil {
			k.scores[smiles] = *known[i].Score
		}
	}
	return k, problems.Err()
}

// UseKnown makes Score return the scores of known molecules, nil for none, without computing them. They are scores of
// the term Told if the objective has it, so that its other terms are still computed, else of the objective.
func (o *Objective) UseKnown(known *KnownScores) {
	if known == nil || len(known.SMILES) == 0 {
		return
	}
	for _, used := range o.oracles {
		if used.Name() == Told {
			used.Oracle = knowingOracle{used.Oracle, known}
			return
		}
	}
	o.known = known
}

// knowingOracle is an oracle with one output that knows some scores.
type knowingOracle struct {
	Oracle
	known *KnownScores
}

func (o knowingOracle) Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	known := func(score float64) []float64 { return []float64{score} }
	return mergeKnown(o.known, molecules, nil, known, func(unknown []*chem.Molecule) ([][]float64, error) {
		return o.Oracle.Score(ctx, unknown)
	})
}

// mergeKnown returns one value per molecule: of its known score, else what score returns for it. missing stands for
// what score leaves out after an error.
func mergeKnown[T any](
	k *KnownScores, molecules []*chem.Molecule, missing T, ofKnown func(float64) T,
	score func([]*chem.Molecule) ([]T, error),
) ([]T, error) {
	var unknown []*chem.Molecule
	for _, m := range molecules {
		if !k.Has(m.SMILES()) {
			unknown = append(unknown, m)
		}
	}
	var scored []T
	var err error
	if len(unknown) > 0 {
		scored, err = score(unknown)
	}
	all := make([]T, len(molecules))
	next := 0
	for i, m := range molecules {
		if k.Has(m.SMILES()) {
			all[i] = ofKnown(k.Score(m.SMILES()))
			continue
		}
		all[i] = missing
		if next < len(scored) {
			all[i] = scored[next]
		}
		next++
	}
	return all, err
}
