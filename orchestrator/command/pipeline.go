package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"retort/orchestrator/client"
)

// pipeline answers the rows of an input in batches, a few at once, and writes the records in the order of the rows.
type pipeline struct {
	process   *Process
	input     Input
	output    Output
	kind      rowKind
	arguments []string

	activity    string // shown by the progress bar, such as "sampling"
	drawn       string // the field with the SMILES that an SDF draws; "" if the records have none
	batchSize   int
	concurrency int // batches in flight
	// ask answers the rows of a batch. The error of a single row is in its answer. If ask fails with a refusal of the
	// whole batch, its halves are asked.
	ask func(ctx context.Context, rows []inputRow) ([]answer, error)
	// wrap changes how records are written; nil for no change.
	wrap func(writer) writer

	source   *source
	sink     *sink
	progress *progress
	rows     int // written
	failed   int // of these, rows without an answer
	answered atomic.Int64
	refused  atomic.Int64

	starting sync.Mutex // held while a batch starts, and while the pipeline is stopped
	inFlight sync.WaitGroup
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

func newPipeline(p *Process, in Input, out Output, k rowKind, arguments []string) *pipeline {
	return &pipeline{process: p, input: in, output: out, kind: k, arguments: arguments, batchSize: 32, concurrency: 4}
}

// run answers all rows. Whatever was written before an error stays, and a run with --resume continues after it.
func (p *pipeline) run() (err error) {
	p.source, err = p.input.source(p.process, p.kind, p.arguments)
	if err != nil {
		return err
	}
	if p.source.file != "" && p.source.file != "-" { // before the output is created
		if _, err := os.Stat(p.source.file); err != nil {
			return err
		}
	}
	p.sink, err = p.output.open(p.process, p.drawn)
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

func (p *pipeline) answerAll() error {
	ctx, stop := context.WithCancelCause(p.process.Context)
	p.progress = newProgress(p.process, p.source, p.sink.done.line, p.activity)
	defer p.progress.end()
	defer p.stop(stop)
	batches := make(chan *batch, p.concurrency)
	var reading error
	go func() {
		defer close(batches)
		reading = p.read(ctx, batches)
	}()
	for b := range batches {
		select {
		case <-b.ready:
		case <-ctx.Done():
			return p.interrupted(context.Cause(ctx))
		}
		if b.err != nil {
			return p.interrupted(b.err)
		}
		if err := p.write(b); err != nil {
			return err
		}
	}
	if reading != nil {
		return p.interrupted(reading)
	}
	if p.failed > 0 {
		return &rowsError{failed: p.failed, total: p.rows}
	}
	return nil
}

// stop ends the batches in flight and waits for them, so that their messages precede the error of the command. It does
// not wait for the reader, which may be waiting for input from a terminal; the reader starts no batch any more.
func (p *pipeline) stop(cancel context.CancelCauseFunc) {
	p.starting.Lock()
	cancel(errStopped)
	p.starting.Unlock()
	p.inFlight.Wait()
}

// start asks for a batch, unless the pipeline has been stopped.
func (p *pipeline) start(ctx context.Context, b *batch) error {
	p.starting.Lock()
	defer p.starting.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.inFlight.Go(func() {
		defer close(b.ready)
		b.answers, b.err = p.answer(ctx, b.rows)
	})
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
	return fmt.Errorf("%w; the answers so far are in %s, and the same command with --resume continues", err, p.sink.file.Name())
}

// read starts a batch of rows after the other. It blocks while p.concurrency batches are in flight.
func (p *pipeline) read(ctx context.Context, batches chan<- *batch) error {
	var rows []inputRow
	send := func() error {
		b := &batch{rows: rows, ready: make(chan struct{})}
		rows = nil
		select {
		case batches <- b:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return p.start(ctx, b)
	}
	for row, err := range p.source.rowsAfter(p.sink.done) {
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

// write writes the records of a batch, and reports its errors.
func (p *pipeline) write(b *batch) error {
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

// answer asks for the rows that can be read.
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
	readableAnswers, err := p.askInHalves(ctx, readable)
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

// askInHalves asks for rows. A batch that is refused because of one of its rows is divided until that row is found.
func (p *pipeline) askInHalves(ctx context.Context, rows []inputRow) ([]answer, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	answers, err := p.ask(ctx, rows)
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
	first, err := p.askInHalves(ctx, rows[:len(rows)/2])
	if err != nil {
		return nil, err
	}
	second, err := p.askInHalves(ctx, rows[len(rows)/2:])
	return append(first, second...), err
}
