package oracle

import (
	"context"
	"math"
	"slices"

	"retort/chem"
	"retort/orchestrator/objective"
)

// Tell returns the scores of molecules, given as canonical SMILES, that the client of a job tells; NaN is a failure. It
// waits for them. With an error, it returns the scores so far and NaN for the others, or none.
type Tell func(ctx context.Context, smiles []string) ([]float64, error)

type tellKey struct{}

// WithTell returns ctx with the scores that the client of a job tells.
func WithTell(ctx context.Context, tell Tell) context.Context {
	return context.WithValue(ctx, tellKey{}, tell)
}

// For returns the oracles of a request: those of Triton and, for a job whose client tells scores, objective.Told.
func (o *Oracles) For(ctx context.Context) []objective.Oracle {
	all := o.All()
	if tell, ok := ctx.Value(tellKey{}).(Tell); ok {
		all = append(slices.Clip(all), told{tell})
	}
	return all
}

// told is the oracle objective.Told.
type told struct{ tell Tell }

func (told) Name() string { return objective.Told }

func (told) Outputs() []string { return []string{"score"} }

// Unit returns the default of the parameter unit of an oracle. A term may have a unit of its own.
func (told) Unit() float64 { return defaultUnit }

func (told) Facts() chem.Facts { return 0 }

func (t told) Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	smiles := make([]string, len(molecules))
	for i, m := range molecules {
		smiles[i] = m.SMILES()
	}
	scores, err := t.tell(ctx, smiles)
	rows := make([][]float64, len(scores))
	for i, score := range scores {
		if err == nil || !math.IsNaN(score) {
			rows[i] = []float64{score}
		}
	}
	return rows, err
}
