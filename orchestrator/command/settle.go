package command

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"retort/chem"
	"retort/orchestrator/client"
)

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
	// JSONL output has the input as valid UTF-8 only.
	return strings.TrimSpace(shown(validUTF8(row.label()))) == strings.TrimSpace(shown(validUTF8(j.sink.done.input)))
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
