package command

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"retort/chem"
	"retort/orchestrator/client"
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
	defer stop(errNoMore)
	j.bar = newProgress(j.process, j.sink, j.source, j.verb)
	defer j.bar.end()
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
	if last, ok := j.sink.writer.(interface{ end() error }); ok {
		if err := last.end(); err != nil {
			return err
		}
	}
	if j.bad > 0 {
		return &RowsError{Bad: j.bad, All: j.all}
	}
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
		go func() {
			defer close(b.ready)
			b.answers, b.err = j.settle(ctx, b.rows)
		}()
		return nil
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

// left are the rows that no earlier run has done.
func (j *job) left() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range j.source.rows() {
			if err == nil && row.Line <= j.sink.done.line {
				if row.Line == j.sink.done.line && !j.same(row) {
					yield(row, fmt.Errorf("line %d of the input is not what the output has of it: it was made of another input", row.Line))
					return
				}
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// same reports whether a row is the one that the output has, as far as that can be seen.
func (j *job) same(row Row) bool {
	if row.SDF || row.JSON != nil {
		return true // records have other texts
	}
	return strings.TrimSpace(shown(row.label())) == strings.TrimSpace(shown(j.sink.done.input))
}

// settle answers the rows that can be read. Where a batch is refused for one of its rows, its halves are asked.
func (j *job) settle(ctx context.Context, rows []Row) ([]answer, error) {
	answers := make([]answer, len(rows))
	var good []Row
	var places []int
	for i, row := range rows {
		if err := j.check(&row); err != nil {
			answers[i].err = err
			continue
		}
		good = append(good, row)
		places = append(places, i)
	}
	settled, err := j.halved(ctx, good)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		answers[place] = settled[i]
	}
	return answers, nil
}

// check reads a row as a molecule where rows are molecules.
func (j *job) check(row *Row) error {
	switch {
	case row.Err != nil:
		return row.Err
	case row.SDF:
		m, err := chem.ParseMolfile(row.Text)
		if err != nil {
			return err
		}
		row.Text = m.SMILES()
		row.SDF = false
	case j.prepare != nil:
		return j.prepare(row)
	case j.chem:
		_, err := chem.Parse(row.Text)
		return err
	}
	return nil
}

// fewRefused is how many rows a service may refuse, with none answered, until the command line is to blame.
const fewRefused = 8

func (j *job) halved(ctx context.Context, rows []Row) ([]answer, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	answers, err := j.ask(ctx, rows)
	var refusal *client.Refusal
	if !errors.As(err, &refusal) || !refusal.Row() {
		if err == nil {
			j.answered.Add(int64(len(rows)))
		}
		return answers, err
	}
	if len(rows) == 1 {
		if j.refused.Add(1) >= fewRefused && j.answered.Load() == 0 {
			return nil, fmt.Errorf("the service refuses every row: %w", &client.Refusal{Message: refusal.Message})
		}
		return []answer{{err: refusal}}, nil
	}
	first, err := j.halved(ctx, rows[:len(rows)/2])
	if err != nil {
		return nil, err
	}
	second, err := j.halved(ctx, rows[len(rows)/2:])
	return append(first, second...), err
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
