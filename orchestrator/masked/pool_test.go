package masked

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"retort/chem"
)

// randomChains returns random chains of heavy atoms, scored by QED.
func randomChains(t testing.TB, count int, seed uint64) (chains []*candidate) {
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
		chains = append(chains, &candidate{molecule: molecule, score: molecule.QED()})
	}
	return chains
}

func TestBestFragments(t *testing.T) {
	p := newPool(maxFragments)
	for round := range uint64(3) {
		if err := p.add(t.Context(), randomChains(t, 60, round), round); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.fragments) < 5*poolBest {
		t.Fatalf("only %d fragments: too few to select from", len(p.fragments))
	}
	best := p.best()
	least := best[len(best)-1].mean()
	better := 0
	for _, f := range p.fragments {
		if f.mean() > least {
			better++
		}
	}
	byMean := func(a, b *fragment) int { return cmp.Compare(b.mean(), a.mean()) }
	if len(best) != poolBest || better >= poolBest || !slices.IsSortedFunc(best, byMean) {
		t.Errorf("%d fragments, not the best: %d are better than the last", len(best), better)
	}
}

// The best fragments of a bounded pool are nearly as good as those of an unbounded one.
func TestPoolLimit(t *testing.T) {
	const limit = 20 * poolBest // stricter than maxFragments, relative to poolBest
	bounded := newPool(limit)
	unbounded := newPool(maxFragments)
	for round := range uint64(10) {
		chains := randomChains(t, 200, round)
		for _, p := range []*pool{bounded, unbounded} {
			if err := p.add(t.Context(), chains, round); err != nil {
				t.Fatal(err)
			}
		}
		if count := len(bounded.fragments); count > limit || count < min(limit/2, len(unbounded.fragments)) {
			t.Fatalf("%d fragments after round %d, the limit is %d", count, round, limit)
		}
	}
	if len(unbounded.fragments) < 3*limit {
		t.Fatalf("%d fragments: too few for the limit to matter", len(unbounded.fragments))
	}
	// An evicted fragment that returns loses its history, so the best may differ, but hardly be worse.
	mean := func(best []*fragment) (sum float64) {
		for _, f := range best {
			sum += unbounded.fragments[f.smiles].mean() / float64(len(best))
		}
		return sum
	}
	if got, want := mean(bounded.best()), mean(unbounded.best()); got < 0.95*want {
		t.Errorf("mean score %.4f of the best, %.4f without a limit", got, want)
	}
}

func TestPoolCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newPool(maxFragments).add(ctx, randomChains(t, 100, 1), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
