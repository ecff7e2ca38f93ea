package search

import "context"

// restart begins a run of CMA-ES at one of the best molecules, with a step size of half to one and a half times the
// first.
func (o *optimizer) restart(ctx context.Context) error {
	hidden, err := o.elite(ctx)
	if err != nil {
		return err
	}
	return o.start(hidden, firstStepSize*(0.5+o.Random.Float64()))
}

// elite is the hidden state of one of the best molecules, encoded anew: the code of a molecule lies deeper in the
// region that decodes to it than the point it was found at. It is that of the seed while nothing has been found.
func (o *optimizer) elite(ctx context.Context) ([]float32, error) {
	size := min(len(o.hallOfFame.best), eliteSize)
	if size == 0 {
		return o.origin.hidden, nil
	}
	chosen := o.hallOfFame.best[o.Random.IntN(size)]
	tokens, err := o.Model.Tokens(chosen.SMILES)
	if err != nil { // the canonical SMILES has a token that the decoded text had not
		return o.origin.hidden, nil
	}
	hiddens, err := o.Model.Encode(ctx, [][]int32{tokens})
	if err != nil {
		return nil, err
	}
	return hiddens[0], nil
}
