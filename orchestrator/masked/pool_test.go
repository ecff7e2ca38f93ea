package masked

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"retort/chem"
)

// randomChains returns candidates that are random chains, scored by their QED.
func randomChains(t testing.TB, count int, seed uint64) (found []*candidate) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	for range count {
		var text strings.Builder
		for range 8 + random.IntN(8) {
			text.WriteString([]string{"C", "N", "O", "S"}[random.IntN(4)])
		}
		molecule, err := chem.Parse(text.String())
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, &candidate{molecule: molecule, score: molecule.QED()})
	}
	return found
}

func texts(fragments []*pooled) (all []string) {
	for _, f := range fragments {
		all = append(all, fmt.Sprintf("%s %v of %d", f.smiles, f.mean(), f.count))
	}
	return all
}

// best returns the fragments that come first when all are sorted by mean score.
func TestTheBestFragments(t *testing.T) {
	p := newPool(maxFragments)
	for round := range uint64(3) {
		if err := p.add(t.Context(), randomChains(t, 60, round), round); err != nil {
			t.Fatal(err)
		}
	}
	var all []*pooled
	for _, f := range p.fragments {
		all = append(all, f)
	}
	if len(all) < 5*poolDrawn {
		t.Fatalf("only %d fragments", len(all))
	}
	slices.SortFunc(all, byMean)
	if want, got := texts(all[:poolDrawn]), texts(p.best()); !slices.Equal(got, want) {
		t.Errorf("the best are %q, want %q", got, want)
	}
}

// A pool never has more fragments than its limit, and its best are about as good as without a limit.
func TestAPoolIsBounded(t *testing.T) {
	const limit = 20 * poolDrawn // a stricter limit than maxFragments, relative to poolDrawn
	bounded := newPool(limit)
	all := newPool(maxFragments)
	for round := range uint64(10) {
		found := randomChains(t, 200, round)
		for _, p := range []*pool{bounded, all} {
			if err := p.add(t.Context(), found, round); err != nil {
				t.Fatal(err)
			}
		}
		if count := len(bounded.fragments); count > limit || count < min(limit/2, len(all.fragments)) {
			t.Fatalf("%d fragments after round %d, the limit is %d", count, round, limit)
		}
	}
	if len(all.fragments) < 3*limit {
		t.Fatalf("%d fragments are too few for the limit to matter", len(all.fragments))
	}
	// A dropped fragment that returns starts anew, so other fragments may be the best, but hardly worse ones.
	mean := func(best []*pooled) (sum float64) {
		for _, f := range best {
			sum += all.fragments[f.smiles].mean() / float64(len(best))
		}
		return sum
	}
	if got, want := mean(bounded.best()), mean(all.best()); got < 0.95*want {
		t.Errorf("the best have a mean score of %.4f, without a limit of %.4f", got, want)
	}
}

func TestAPoolEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newPool(maxFragments).add(ctx, randomChains(t, 100, 1), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
