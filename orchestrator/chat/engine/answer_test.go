package engine

import (
	"context"
	"iter"
	"testing"

	"retort/orchestrator/fault"
)

// script is an engine that writes pieces, calls then and fails with err. then and err may be nil.
type script struct {
	Engine
	pieces []Piece
	then   func()
	err    error
}

func (s script) Generate(context.Context, Request) (iter.Seq2[Piece, error], error) {
	return func(yield func(Piece, error) bool) {
		for _, p := range s.pieces {
			if !yield(p, nil) {
				return
			}
		}
		if s.then != nil {
			s.then()
		}
		if s.err != nil {
			yield(Piece{}, s.err)
		}
	}, nil
}

// TestFinishReason checks that an answer has a finish reason if it is complete, and otherwise an error, never both.
func TestFinishReason(t *testing.T) {
	var cancel context.CancelFunc
	leave := func() { cancel() }
	failed := fault.New(fault.Unavailable, "failed")
	part := []Piece{{Text: "a"}}
	whole := []Piece{{Text: "a", Finish: "length"}}
	for name, test := range map[string]struct {
		engine script
		finish string
		kind   fault.Kind // of the error, if there is no finish reason
	}{
		"complete":                    {engine: script{pieces: part}, finish: "stop"},
		"context ended":               {engine: script{pieces: part, then: leave}, kind: fault.Canceled},
		"engine failed":               {engine: script{pieces: part, err: failed}, kind: fault.Unavailable},
		"engine failed after the end": {engine: script{pieces: whole, err: failed}, finish: "length"},
		"context ended after the end": {engine: script{pieces: whole, then: leave}, finish: "length"},
	} {
		for _, choices := range []int{1, 2} {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			finishes := 0
			var failure error
			for c, err := range Answer(ctx, test.engine, Request{Sampling: Sampling{N: choices}}) {
				failure = err
				if c.Finish != "" {
					finishes++
					if c.Finish != test.finish {
						t.Errorf("%s: finish reason %q, want %q", name, c.Finish, test.finish)
					}
				}
			}
			switch {
			case test.finish == "" && (finishes > 0 || fault.KindOf(failure) != test.kind):
				t.Errorf("%s, %d choices: %d finish reasons and error %v", name, choices, finishes, failure)
			case test.finish != "" && choices == 1 && (finishes != 1 || failure != nil):
				t.Errorf("%s: %d finish reasons and error %v", name, finishes, failure)
			}
		}
	}
}

// TestPanicIsAnError has an engine that panics in the goroutine of a choice.
func TestPanicIsAnError(t *testing.T) {
	e := script{pieces: []Piece{{Text: "a"}}, then: func() { panic("test") }}
	var failure error
	for _, err := range Answer(t.Context(), e, Request{Sampling: Sampling{N: 2}}) {
		failure = err
	}
	if fault.KindOf(failure) != fault.Internal {
		t.Errorf("got %v, want an Internal fault", failure)
	}
}
