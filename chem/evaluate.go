package chem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"retort/chem/rdkit"
)

// Facts is a set of things to compute in advance. A molecule computes what is missing when it is asked, one call at a
// time; a batch is faster.
type Facts = rdkit.Want

// The facts a batch can compute. Canonical SMILES and the counts are always there.
const (
	FactFlat        Facts = rdkit.Flat
	FactFormula     Facts = rdkit.Formula
	FactLogP        Facts = rdkit.LogP
	FactTPSA        Facts = rdkit.TPSA
	FactQED         Facts = rdkit.QED
	FactSA          Facts = rdkit.SA
	FactFingerprint Facts = rdkit.Morgan
	AllFacts        Facts = FactFlat | FactFormula | FactLogP | FactTPSA | FactQED | FactSA | FactFingerprint
)

// Options tell how a batch is worked on. The zero value is ready to use.
type Options struct {
	Facts   Facts  // what to compute; 0 = only what [Parse] does
	Limits  Limits // of each text
	Workers int    // goroutines at most; 0 = one per core
}

// Result is one row of a batch: a molecule, or why there is none.
type Result struct {
	Molecule *Molecule
	Err      error
}

// Evaluate reads many molecules on all cores. The i-th result belongs to the i-th text; a text that is not a molecule
// is an error of its row only. When ctx ends, Evaluate stops within about a chunk of 64 molecules and returns ctx's
// error; the rows not worked on have it as theirs.
func Evaluate(ctx context.Context, smiles []string, o Options) ([]Result, error) {
	results := make([]Result, len(smiles))
	err := o.inChunks(ctx, len(smiles), oneEach, func(from, to int) {
		evaluate(smiles[from:to], results[from:to], o)
	}, func(from, to int) {
		for i := from; i < to; i++ {
			results[i].Err = ctx.Err()
		}
	})
	return results, err
}

func evaluate(smiles []string, results []Result, o Options) {
	texts := make([]string, 0, len(smiles))
	rows := make([]int, 0, len(smiles))
	for i, s := range smiles {
		text, err := o.Limits.Check(s)
		if err != nil {
			results[i].Err = err
			continue
		}
		texts = append(texts, text)
		rows = append(rows, i)
	}
	want := o.Facts | rdkit.Canonical
	for i, p := range rdkit.Profiles(texts, want) {
		r := &results[rows[i]]
		r.Molecule, r.Err = newMolecule(smiles[rows[i]], texts[i], p, want)
	}
}

// slots bound the batches of the whole process together to one chunk per core at a time: many callers at once wait for
// each other here, and not in the scheduler, where they would take the cores from everything else. A batch that weighs
// at most fewTexts is worked on at once: it takes a moment, and must not wait behind long ones.
var slots = make(chan struct{}, runtime.GOMAXPROCS(0))

const fewTexts = 16

// maxChunk is the largest weight of a chunk of several items. It bounds how long a batch runs on after its context has
// ended.
const maxChunk = 64

// oneEach is the weight of items of one molecule each.
func oneEach(int) int { return 1 }

// inChunks cuts the items 0 to n-1 into chunks for the workers: they call work while ctx is alive, skip afterwards. weight
// returns the largest number of molecules of an item. The error is ctx's, or a panic of work.
func (o Options) inChunks(ctx context.Context, n int, weight func(i int) int, work, skip func(from, to int)) error {
	total := 0
	for i := range n {
		total += weight(i)
	}
	do := func(from, to int) error {
		if ctx.Err() != nil {
			skip(from, to)
			return nil
		}
		return contain(func() { work(from, to) })
	}
	if total <= fewTexts {
		return cmp.Or(do(0, n), ctx.Err())
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	// Several chunks per worker, so that one slow chunk does not leave the others idle.
	cuts := cut(n, weight, min(maxChunk, (total+4*workers-1)/(4*workers)))
	chunks := len(cuts) - 1
	workers = min(workers, chunks)
	var next atomic.Int64
	run := func() error {
		for {
			chunk := int(next.Add(1)) - 1
			if chunk >= chunks {
				return nil
			}
			select {
			case slots <- struct{}{}:
				err := do(cuts[chunk], cuts[chunk+1])
				<-slots
				if err != nil {
					return err
				}
			case <-ctx.Done():
				skip(cuts[chunk], cuts[chunk+1])
			}
		}
	}
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for k := range workers - 1 {
		wg.Go(func() { errs[k] = run() })
	}
	errs[workers-1] = run()
	wg.Wait()
	return cmp.Or(errors.Join(errs...), ctx.Err())
}

// cut divides the items 0 to n-1 into chunks and returns their boundaries, 0 and n included. A chunk weighs at most most,
// or has one item.
func cut(n int, weight func(i int) int, most int) []int {
	cuts := []int{0}
	chunk := 0
	for i := range n {
		w := weight(i)
		if chunk > 0 && chunk+w > most {
			cuts = append(cuts, i)
			chunk = 0
		}
		chunk += w
	}
	return append(cuts, n)
}

// contain returns a panic of work as an error: in a goroutine it would end the process.
func contain(work func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	work()
	return nil
}

// Warm loads the reference data and compiles the built-in patterns, some tens of milliseconds of work that otherwise
// happens in the first call that needs it.
func Warm() error { return rdkit.Warm() }
