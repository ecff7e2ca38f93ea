package search

import (
	"math"
	"math/rand/v2"
)

const (
	// newParentReward is the reward for offspring that joins the parents without being fitter than the one it was made
	// from; fitter offspring is rewarded with 1.
	newParentReward = 0.05
	// repeatedTrial is what a text that is not new counts as a trial, where a new one counts 1: it was decoded, or made by
	// edits, but not evaluated.
	repeatedTrial = 0.3
	// remembered is the share of trials and rewards that is kept from one generation to the next.
	remembered = 0.97
)

// selection is adaptive operator selection: it learns which operators pay, and prefers them.
type selection struct {
	random  *rand.Rand
	trials  [len(operators)]float64 // how often each was tried, the recent past counting more
	rewards [len(operators)]float64 // what those trials gained, at most 1 each
}

// choose draws the index of an operator by Thompson sampling: of each operator's reward per trial a plausible value is
// drawn, and the operator with the highest one is taken. The distribution is the normal approximation of a beta
// distribution with a prior of half a reward in 20 trials.
func (s *selection) choose() int {
	highest := math.Inf(-1)
	chosen := 0
	for k := range operators {
		rate := (s.rewards[k] + 0.5) / (s.trials[k] + 20)
		rate += s.random.NormFloat64() * math.Sqrt(rate*(1-rate)/(s.trials[k]+21))
		if rate > highest {
			highest = rate
			chosen = k
		}
	}
	return chosen
}

// forget lets what was learnt so far count less: it is called once a generation.
func (s *selection) forget() {
	for k := range operators {
		s.trials[k] *= remembered
		s.rewards[k] *= remembered
	}
}
