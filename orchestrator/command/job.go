package command

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// job answers the rows of an input in batches, a few at once, and writes their records in the order of the rows.
type job struct {
	process *Process
	source  *source
	sink    *sink
	verb    string           // of the progress bar: "sampling"
	size    int              // rows of a batch at most
	atOnce  int              // batches under way at most
	chem    bool             // rows are molecules, which are read here before anybody is asked
	prepare func(*Row) error // looks at a row before anybody is asked; nil for nothing
	// ask answers a batch: the records of each row. A row may have an error of its own.
	ask func(ctx context.Context, rows []Row) ([]answer, error)

	all      int // rows seen
	bad      int // rows without an answer
	answered atomic.Int64
	refused  atomic.Int64
	bar      *progress

	starting sync.Mutex     // held while a batch is started, and while the work is told to end
	under    sync.WaitGroup // the batches under way
}

// answer is what became of a row.
type answer struct {
	records []Record
	err     error
}

// batch is some rows and what will have become of them.
type batch struct {
	rows    []Row
	answers []answer
	err     error
	ready   chan struct{}
}

// errNoMore ends the reading of rows when nobody takes them any more.
var errNoMore = errors.New("no more rows")

// run answers all rows. What has been written before an error stays, and a run with --resume goes on behind it.
func (j *job) run() (err error) {
	ctx, stop := context.WithCancelCause(j.process.Context)
	j.bar = newProgress(j.process, j.sink, j.source, j.verb)
	defer j.bar.end()
	defer j.end(stop)
	batches := make(chan *batch, j.atOnce)
	var reading error
	go func() {
		defer close(batches)
		reading = j.read(ctx, batches)
	}()
	for b := range batches {
		select {
		case <-b.ready:
		case <-ctx.Done():
			return j.interrupted(context.Cause(ctx))
		}
		if b.err != nil {
			return j.interrupted(b.err)
		}
		if err := j.write(b); err != nil {
			return err
		}
	}
	if reading != nil {
		return j.interrupted(reading)
	}
	if j.bad > 0 {
		return &RowsError{Bad: j.bad, All: j.all}
	}
	return nil
}

// end stops the batches under way and waits for them: what they say comes before what the command says last. The reader is
// not waited for, because it may be waiting for somebody who types; it starts nothing any more.
func (j *job) end(stop context.CancelCauseFunc) {
	j.starting.Lock()
	stop(errNoMore)
	j.starting.Unlock()
	j.under.Wait()
}

// start begins a batch unless the work has been told to end.
func (j *job) start(ctx context.Context, b *batch) error {
	j.starting.Lock()
	defer j.starting.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j.under.Go(func() {
		defer close(b.ready)
		b.answers, b.err = j.settle(ctx, b.rows)
	})
	return nil
}

// note shows what is going on before the bar.
func (j *job) note(format string, values ...any) { j.bar.describe(fmt.Sprintf(format, values...)) }

// interrupted says how to go on.
func (j *job) interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	if j.sink.file == nil {
		return err
	}
	return fmt.Errorf("%w; what is done is in %s, and the same command with --resume goes on", err, j.sink.file.Name())
}

// read makes batches of the rows and starts on each. It waits while as many as may be under way are.
func (j *job) read(ctx context.Context, batches chan<- *batch) error {
	next := &batch{}
	send := func() error {
		b := next
		next = &batch{}
		b.ready = make(chan struct{})
		select {
		case batches <- b:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return j.start(ctx, b)
	}
	for row, err := range j.left() {
		if err != nil {
			return err
		}
		next.rows = append(next.rows, row)
		if len(next.rows) == j.size {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if len(next.rows) > 0 {
		return send()
	}
	return nil
}

// write puts the records of a batch into the output, and its errors on standard error.
func (j *job) write(b *batch) error {
	j.bar.clear()
	for i, a := range b.answers {
		j.all++
		if a.err != nil {
			j.bad++
			j.bar.say("line %d: %v", b.rows[i].Line, a.err)
		}
		for _, r := range a.records {
			if err := j.sink.write(r); err != nil {
				return err
			}
		}
	}
	j.bar.add(len(b.rows))
	return j.sink.flush()
}
