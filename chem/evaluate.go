package chem

import (
	"context"
	"runtime"
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
	err := o.inChunks(ctx, len(smiles), func(from, to int) {
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
// each other here, and not in the scheduler, where they would take the cores from everything else. A batch of at most
// fewTexts is worked on at once: it takes a moment, and must not wait behind long ones.
var slots = make(chan struct{}, runtime.GOMAXPROCS(0))

const fewTexts = 16

// maxChunk bounds how long a batch goes on after its context has ended.
const maxChunk = 64

// inChunks cuts 0..n into chunks and hands them to the workers: to work while ctx is alive, to skip afterwards.
func (o Options) inChunks(ctx context.Context, n int, work, skip func(from, to int)) error {
	if n <= fewTexts {
		if ctx.Err() == nil {
			work(0, n)
		} else {
			skip(0, n)
		}
		return ctx.Err()
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	// Several chunks per worker, so that one slow chunk does not leave the others idle.
	chunk := min(maxChunk, max(1, (n+4*workers-1)/(4*workers)))
	chunks := (n + chunk - 1) / chunk
	var next atomic.Int64
	run := func() {
		for {
			from := (int(next.Add(1)) - 1) * chunk
			if from >= n {
				return
			}
			to := min(n, from+chunk)
			select {
			case slots <- struct{}{}:
				if ctx.Err() == nil {
					work(from, to)
				} else {
					skip(from, to)
				}
				<-slots
			case <-ctx.Done():
				skip(from, to)
			}
		}
	}
	var wg sync.WaitGroup
	for range min(workers, chunks) - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	return ctx.Err()
}

// Warm loads the reference data and compiles the built-in patterns, some tens of milliseconds of work that otherwise
// happens in the first call that needs it.
func Warm() error { return rdkit.Warm() }
