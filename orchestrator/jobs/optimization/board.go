package optimization

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/unfinished"
)

// parkAfter is how long an attempt waits for scores. Then the job is parked: it takes no worker, and another attempt
// repeats the work once the scores have arrived. A client that answers sooner avoids the repetition.
const parkAfter = 20 * time.Second

// board has the candidates of a told job, and gives their scores to the searches of one attempt.
type board struct {
	stores    *stores
	key       string // of the job
	cancelled bool   // ask for no more scores
	parkAfter time.Duration

	asking sync.Mutex // held while batches are written

	mu       sync.Mutex
	count    int                  // of batches
	known    map[string]candidate // by SMILES
	batchOf  map[string]int       // the number of the batch of each candidate, by SMILES
	lateFrom map[string]int       // the number of the batch from which a late score is used, by SMILES
	changed  chan struct{}        // closed when known has changed
	activity time.Time            // of the last question or score
	pending  int                  // calls of scores that wait
	parked   bool

	stop context.CancelCauseFunc // ends the attempt
}

// openBoard returns the board of a job with the candidates so far.
func openBoard(
	ctx context.Context, st *stores, key string, cancelled bool, parkAfter time.Duration,
) (*board, error) {
	b := &board{
		stores: st, key: key, cancelled: cancelled, parkAfter: parkAfter, known: map[string]candidate{},
		batchOf: map[string]int{}, lateFrom: map[string]int{}, changed: make(chan struct{}), activity: time.Now(),
	}
	return b, b.load(ctx)
}

// load reads all batches.
func (b *board) load(ctx context.Context) error {
	batches, err := b.stores.batches(ctx, b.key)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count = len(batches)
	for n, batch := range batches {
		for _, c := range batch.Candidates {
			b.update(c)
			b.batchOf[c.SMILES] = n
		}
		for _, smiles := range batch.Late {
			b.lateFrom[smiles] = n
		}
	}
	b.announce()
	return nil
}

// announce wakes the calls of scores. b.mu must be held.
func (b *board) announce() {
	b.activity = time.Now()
	close(b.changed)
	b.changed = make(chan struct{})
}

// scores implements Request.Told. It asks for the scores of new molecules, and waits until it has all scores.
func (b *board) scores(ctx context.Context, smiles []string) ([]float64, error) {
	if !b.cancelled {
		if err := b.ask(ctx, smiles); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending++
	defer func() { b.pending-- }()
	for {
		scores, complete := b.lookup(smiles)
		if complete {
			return scores, nil
		}
		if b.cancelled {
			b.stop(unfinished.Cancelled)
		}
		changed := b.changed
		b.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		b.mu.Lock()
		if err != nil {
			return scores, err
		}
	}
}

// lookup returns the known scores of molecules, NaN for the others, and whether none is missing. A late score counts if
// one of the molecules is in its batch of lateFrom or in a later one. b.mu must be held.
func (b *board) lookup(smiles []string) (scores []float64, complete bool) {
	complete = true
	latest := 0
	for _, text := range smiles {
		latest = max(latest, b.batchOf[text])
	}
	for _, text := range smiles {
		score := math.NaN()
		c := b.known[text]
		if c.Score != nil {
			score = *c.Score
		} else if from, ok := b.lateFrom[text]; ok && from <= latest && c.Late != nil {
			score = *c.Late
		}
		scores = append(scores, score)
		complete = complete && c.Told
	}
	return scores, complete
}

// ask stores the molecules that are not candidates yet as batches.
func (b *board) ask(ctx context.Context, smiles []string) error {
	b.asking.Lock()
	defer b.asking.Unlock()
	for {
		missing, next := b.missing(smiles)
		if len(missing.Candidates) == 0 {
			return nil
		}
		missing.Candidates = missing.Candidates[:min(len(missing.Candidates), maxBatch)]
		err := b.stores.told.Create(ctx, batchKey(b.key, next), missing)
		if err != nil && !errors.Is(err, queue.ErrExists) { // ErrExists: another worker has the job, too
			return err
		}
		if err := b.load(ctx); err != nil {
			return err
		}
		_, err = b.stores.jobs.Change(ctx, b.key, func(r *record) error { return r.countWaiting(ctx, b.stores) })
		if err != nil {
			return err
		}
	}
}

// missing returns the molecules that are not candidates yet, with the late scores since the last batch, and the number
// of the next batch.
func (b *board) missing(smiles []string) (batch batch, next int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range smiles {
		if _, ok := b.known[text]; !ok {
			batch.Candidates = append(batch.Candidates, candidate{SMILES: text})
		}
	}
	for text, c := range b.known {
		if _, used := b.lateFrom[text]; c.Late != nil && !used {
			batch.Late = append(batch.Late, text)
		}
	}
	slices.Sort(batch.Late)
	batch.Late = batch.Late[:min(len(batch.Late), maxBatch)]
	return batch, b.count
}

// update sets the state of a candidate, unless a newer one is known: a score never goes away. b.mu must be held.
func (b *board) update(c candidate) {
	if old := b.known[c.SMILES]; old.Late != nil || old.Told && !c.Told {
		return
	}
	b.known[c.SMILES] = c
}

// follow receives scores, and parks the job when none has come for a while, until ctx ends.
func (b *board) follow(ctx context.Context, logger zerolog.Logger) {
	go queue.Every(ctx, time.Second, b.parkIfIdle)
	for ctx.Err() == nil {
		err := b.stores.told.Watch(ctx, b.key+".*", func(changed batch) bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, c := range changed.Candidates {
				if _, loaded := b.known[c.SMILES]; loaded { // else ask loads it, with the number of its batch
					b.update(c)
				}
			}
			b.announce()
			return true
		})
		if err != nil && ctx.Err() == nil {
			logger.Warn().Err(err).Str("key", b.key).Msg("scores of a job cannot be read")
		}
		queue.Sleep(ctx, time.Second)
	}
}

// parkIfIdle ends the attempt if its searches have waited for parkAfter without any score.
func (b *board) parkIfIdle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending > 0 && time.Since(b.activity) > b.parkAfter && !b.cancelled {
		b.parked = true
		b.stop(unfinished.Waiting)
	}
}

// isParked reports whether the attempt ended because its searches wait for scores.
func (b *board) isParked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.parked
}
