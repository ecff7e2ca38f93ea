package engine

import (
	"context"
	"iter"
	"testing"

	"retort/orchestrator/fault"
)

// script is an engine that writes pieces, calls then and fails with err; then and err may be nil.
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

// An answer has a finish reason if its engine came to the end, and an error otherwise, never both.
func TestOnlyACompleteAnswerHasAFinishReason(t *testing.T) {
	var cancel context.CancelFunc
	leave := func() { cancel() }
	failed := fault.New(fault.Unavailable, "failed")
	part := []Piece{{Text: "a"}}
	whole := []Piece{{Text: "a", Finish: "length"}}
	for name, test := range map[string]struct {
		engine script
		finish string
		kind   fault.Kind // of the error, where there is no finish reason
	}{
		"complete":                        {engine: script{pieces: part}, finish: "stop"},
		"cut by the end of the context":   {engine: script{pieces: part, then: leave}, kind: fault.Canceled},
		"cut by an error":                 {engine: script{pieces: part, err: failed}, kind: fault.Unavailable},
		"an error after a finish reason":  {engine: script{pieces: whole, err: failed}, finish: "length"},
		"a context that ended after that": {engine: script{pieces: whole, then: leave}, finish: "length"},
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

// A panic in the goroutine of a choice becomes an error.
func TestAPanicOfAChoiceIsAnError(t *testing.T) {
	e := script{pieces: []Piece{{Text: "a"}}, then: func() { panic("an engine that panics") }}
	var failure error
	for _, err := range Answer(t.Context(), e, Request{Sampling: Sampling{N: 2}}) {
		failure = err
	}
	if fault.KindOf(failure) != fault.Internal {
		t.Errorf("error %v, want an internal one", failure)
	}
}
