package search

import (
	"math"
	"math/rand/v2"
)

// source is what an operator makes a hidden state from, before it adds noise.
type source int

const (
	parentCode      source = iota // the parent's hidden state
	windowCrossover               // the parent's hidden state, with another parent's numbers in the window
	tokenEdit                     // the parent's text with one token inserted, replaced or deleted, encoded again
	twoTokenEdits                 // the same with two edits
	textCrossover                 // the beginning of the parent's text and the end of another's, encoded again
	graphEdit                     // the parent's molecule after a small change of its graph, encoded
	graphCrossover                // a part of the parent's molecule joined with a part of another's, encoded
)

// isText reports whether the source is a text, which has to be encoded.
func (s source) isText() bool { return s >= tokenEdit }

// editsGraph reports whether the source is an edited molecule: see [editor].
func (s source) editsGraph() bool { return s >= graphEdit }

// editsTokens reports whether the source is a text that need not be a SMILES.
func (s source) editsTokens() bool { return s.isText() && !s.editsGraph() }

// operator is a mutation or crossover operator: it makes a point of the latent space from one or two parents. A window
// is a run of neighbouring coordinates at a random place. The model was trained so that places in the hidden state
// belong to places in the text, so a change in a window changes some of the atoms.
type operator struct {
	source
	window      float64 // share of the coordinates in the window, from 0 to 1
	noise       float64 // standard deviation of the noise added in the window, in units of the space's radius
	temperature float32 // of the decoder
}

// isDirect reports whether the operator's molecule is scored without decoding: without noise, its hidden state would at
// best decode to the molecule itself.
func (o *operator) isDirect() bool { return o.editsGraph() && o.window == 0 }

// operators are the operators that a search chooses from. Their success differs between seeds and objectives, so a
// search learns it: see [selection].
var operators = [...]operator{
	{parentCode, 1, 0.9, 0},
	{parentCode, 1, 1.2, 0},
	{parentCode, 1, 0.5, 1},
	{parentCode, 1. / 2, 1.2, 0},
	{parentCode, 1. / 8, 2, 0},
	{parentCode, 1. / 32, 3.5, 0},
	{windowCrossover, 1. / 4, 0, 0},
	{windowCrossover, 1. / 2, 0, 0},
	{windowCrossover, 1. / 2, 0.25, 0.7},
	{textCrossover, 0, 0, 0},
	{textCrossover, 1, 0.4, 0.7},
	{tokenEdit, 0, 0, 0},
	{tokenEdit, 1, 0.6, 0},
	{tokenEdit, 1, 0.4, 0.7},
	{twoTokenEdits, 1, 0.6, 0},
	{graphEdit, 0, 0, 0},
	{graphEdit, 1, 0.5, 0},
	{graphCrossover, 0, 0, 0},
	{graphCrossover, 1, 0.5, 0},
}

const (
	// newParentReward is the reward for a child that joins the parents without being fitter than its own; a fitter
	// child earns 1.
	newParentReward = 0.05
	// repeatedTrial is the share of a trial that a repeated text counts: it cost no evaluation.
	repeatedTrial = 0.3
	// retention is the factor by which trials and rewards decay per generation.
	retention = 0.97
)

// selection is adaptive operator selection: it prefers the operators that have earned more rewards per trial.
type selection struct {
	random *rand.Rand
	// moleculesOnly leaves out the operators whose texts need not be SMILES: see [Model].TextTokens.
	moleculesOnly bool

	trials  [len(operators)]float64 // decayed number of trials per operator
	rewards [len(operators)]float64 // decayed sum of their rewards, at most 1 each
}

// choose returns the index of an operator by Thompson sampling: it draws a plausible reward per trial for each operator
// and takes the operator with the highest. The distribution is the normal approximation of a beta distribution with a
// prior of half a reward in 20 trials.
func (s *selection) choose() int {
	highest := math.Inf(-1)
	chosen := 0
	for k := range operators {
		if s.moleculesOnly && operators[k].editsTokens() {
			continue
		}
		rate := (s.rewards[k] + 0.5) / (s.trials[k] + 20)
		rate += s.random.NormFloat64() * math.Sqrt(rate*(1-rate)/(s.trials[k]+21))
		if rate > highest {
			highest = rate
			chosen = k
		}
	}
	return chosen
}

// decay makes earlier trials count less. It is called once a generation.
func (s *selection) decay() {
	for k := range operators {
		s.trials[k] *= retention
		s.rewards[k] *= retention
	}
}
