package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"retort/orchestrator/client"
)

// pipeline answers the rows of an input in batches, some at once, and writes the records in the order of the rows. A
// command sets the first fields, up to wrap.
type pipeline struct {
	kind         rowKind
	activity     string // shown by the progress bar, such as "sampling"
	batchSize    int
	concurrency  int  // batches in flight, or waiting for an earlier one to be written; 0 for defaultConcurrency
	hasMolecules bool // the records have the field smiles, so that they can be written as SDF
	// request answers the rows of a batch. The error of a single row is in its answer. If the whole batch is refused,
	// its halves are requested.
	request func(ctx context.Context, rows []inputRow) ([]answer, error)
	// wrap changes how records are written; nil for no change.
	wrap func(writer) writer

	process  *Process
	source   *source
	sink     *sink
	progress *progress
	rows     int // written
	failed   int // of these, rows without an answer
	skipped  int // rows that an earlier run has processed; final once all rows are read
	answered atomic.Int64
	refused  atomic.Int64
}

// answer is the result of a row.
type answer struct {
	records []outputRecord
	err     error
}

// batch is rows in flight. Once ready is closed it has their answers.
type batch struct {
	rows    []inputRow
	answers []answer
	err     error
	ready   chan struct{}
}

// errStopped stops the reading of rows.
var errStopped = errors.New("no more rows")

// defaultConcurrency keeps the service busy while answers are written.
const defaultConcurrency = 5

// rowFlags are the flags of the commands that read rows and write records.
type rowFlags struct {
	inputFlags  `embed:"" group:"Input"`
	outputFlags `embed:"" group:"Output"`
}

// run answers the rows of the arguments or the input. Whatever was written before an error stays, and a run with
// --resume continues after it.
func (f rowFlags) run(process *Process, arguments []string, p *pipeline) (err error) {
	p.process = process
	p.concurrency = cmp.Or(p.concurrency, defaultConcurrency)
	p.source, err = f.source(process, p.kind, arguments)
	if err != nil {
		return err
	}
	input, err := p.source.stat() // before the output is created
	if err != nil {
		return err
	}
	if isRegular(input) && isSameFile(input, f.outputFlags.File) {
		return fmt.Errorf("%s: the output would overwrite the input, which is the same file", f.outputFlags.File)
	}
	if stdout, isFile := process.Stdout.(*os.File); isFile && f.outputFlags.File == "" && isRegular(input) {
		if output, err := stdout.Stat(); err == nil && os.SameFile(input, output) {
			return errors.New("standard output would be appended to the input, which is the same file")
		}
	}
	p.sink, err = f.open(process, p.hasMolecules)
	if err != nil {
		return err
	}
	if p.wrap != nil {
		p.sink.writer = p.wrap(p.sink.writer)
	}
	err = p.answerAll()
	if closing := p.sink.close(); closing != nil {
		err = errors.Join(err, closing)
	}
	return err
}

// answerAll starts a batch as soon as its rows are read, and writes the answers of the oldest one once they are ready.
// It waits for the batches in flight, so that their messages precede its error, but not for the reader, which may be
// waiting for input from a terminal.
func (p *pipeline) answerAll() error {
	p.progress = newProgress(p.process, p.source, p.sink.done.line, p.activity)
	defer p.progress.end()
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	ctx, cancel := context.WithCancelCause(p.process.Context)
	defer cancel(errStopped)
	batches := make(chan []inputRow)
	var readErr error
	go func() {
		defer close(batches)
		readErr = p.read(ctx, batches)
	}()
	var queue []*batch // oldest first
	for batches != nil || len(queue) > 0 {
		next := batches
		if len(queue) == p.concurrency {
			next = nil
		}
		var oldest chan struct{}
		if len(queue) > 0 {
			oldest = queue[0].ready
		}
		select {
		case rows, ok := <-next:
			if !ok {
				batches = nil
				continue
			}
			b := &batch{rows: rows, ready: make(chan struct{})}
			queue = append(queue, b)
			inFlight.Go(func() {
				defer close(b.ready)
				b.answers, b.err = p.answer(ctx, b.rows)
			})
		case <-oldest:
			if err := p.write(queue[0]); err != nil {
				return err
			}
			queue = queue[1:]
		case <-ctx.Done():
			return p.interrupted(context.Cause(ctx))
		}
	}
	if readErr != nil {
		return p.interrupted(readErr)
	}
	failed := p.failed + max(p.skipped-p.sink.done.rows, 0)
	if failed > 0 {
		return &rowsError{failed: failed, total: p.rows + p.skipped}
	}
	return nil
}

// interrupted adds to an error how the run can be resumed.
func (p *pipeline) interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	if p.sink.file == nil {
		return err
	}
	return fmt.Errorf("%w; the answers so far are in %s, and the same command with --resume continues",
		err, p.sink.file.Name())
}

// read divides the rows into batches.
func (p *pipeline) read(ctx context.Context, batches chan<- []inputRow) error {
	var rows []inputRow
	send := func() error {
		select {
		case batches <- rows:
			rows = nil
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for row, err := range p.source.rowsAfter(p.sink.done, &p.skipped) {
		if err != nil {
			return err
		}
		rows = append(rows, row)
		if len(rows) == p.batchSize {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if len(rows) > 0 {
		return send()
	}
	return nil
}

// write writes the records of a batch, and reports the errors of its rows.
func (p *pipeline) write(b *batch) error {
	if b.err != nil {
		return p.interrupted(b.err)
	}
	p.progress.clear()
	for i, a := range b.answers {
		p.rows++
		if a.err != nil {
			p.failed++
			p.process.report("line %d: %v", b.rows[i].line, a.err)
		}
		for _, r := range a.records {
			if err := p.sink.write(r); err != nil {
				return err
			}
		}
	}
	p.progress.add(len(b.rows))
	return p.sink.buffer.Flush()
}

// answer requests the answers of the rows that can be read.
func (p *pipeline) answer(ctx context.Context, rows []inputRow) ([]answer, error) {
	answers := make([]answer, len(rows))
	var readable []inputRow
	var positions []int
	for i, row := range rows {
		if err := p.kind.prepare(&row); err != nil {
			answers[i].err = err
			continue
		}
		readable = append(readable, row)
		positions = append(positions, i)
	}
	readableAnswers, err := p.bisect(ctx, readable)
	if err != nil {
		return nil, err
	}
	for i, position := range positions {
		answers[position] = readableAnswers[i]
	}
	return answers, nil
}

// refusalsBeforeAnyAnswer is how many refused rows, with none answered, mean that the command line is wrong.
const refusalsBeforeAnyAnswer = 8

// bisect requests the answers of rows. A batch that is refused because of one of its rows is halved until that row is
// found.
func (p *pipeline) bisect(ctx context.Context, rows []inputRow) ([]answer, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	answers, err := p.request(ctx, rows)
	var refusal *client.Refusal
	if !errors.As(err, &refusal) || !refusal.IsDataError() {
		if err == nil {
			p.answered.Add(int64(len(rows)))
		}
		return answers, err
	}
	if len(rows) == 1 {
		if p.refused.Add(1) >= refusalsBeforeAnyAnswer && p.answered.Load() == 0 {
			return nil, fmt.Errorf("the service refuses every row: %w", &client.Refusal{Message: refusal.Message})
		}
		return []answer{{err: refusal}}, nil
	}
	first, err := p.bisect(ctx, rows[:len(rows)/2])
	if err != nil {
		return nil, err
	}
	second, err := p.bisect(ctx, rows[len(rows)/2:])
	return append(first, second...), err
}
