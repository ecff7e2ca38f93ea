package engine

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
)

// Chunk is new text of one choice, ready for the client.
type Chunk struct {
	Choice int // from 0
	Piece
	// Stop is the stop string that ended the choice, nil if it ended for another reason.
	Stop *string
}

// Answer writes r.Sampling.N choices concurrently. Each is a separate request to the engine, because the contracts
// differ in whether and how one request has several. The sequence may be ranged over once; breaking out of the loop, or
// the end of ctx, cancels the requests. The last chunk of each choice has a finish reason. An error is the last
// element; it is Invalid if the engine's message says that the request is at fault.
func Answer(ctx context.Context, e Engine, r Request) iter.Seq2[Chunk, error] {
	if r.Sampling.N <= 1 {
		return writeChoice(ctx, e, r, 0)
	}
	return func(yield func(Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		chunks := make(chan Chunk)
		work, ctx := errgroup.WithContext(ctx)
		for i := range r.Sampling.N {
			work.Go(fault.WithRecover(func() error { return forward(ctx, e, r, i, chunks) }))
		}
		ended := make(chan error, 1)
		go func() { ended <- work.Wait(); close(chunks) }()
		for c := range chunks {
			if !yield(c, nil) {
				cancel()
				for range chunks { // until all choices have ended, as their context has
				}
				return
			}
		}
		if err := <-ended; err != nil {
			yield(Chunk{}, err)
		}
	}
}

// forward sends the chunks of one choice to a channel.
func forward(ctx context.Context, e Engine, r Request, number int, chunks chan<- Chunk) error {
	for c, err := range writeChoice(ctx, e, r, number) {
		if err != nil {
			return err
		}
		select {
		case chunks <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// writeChoice writes one choice.
func writeChoice(ctx context.Context, e Engine, r Request, number int) iter.Seq2[Chunk, error] {
	if seed := r.Sampling.Seed; seed != nil && number > 0 {
		next := *seed + int64(number) // as in vLLM: choices differ and are reproducible
		r.Sampling.Seed = &next
	}
	return func(yield func(Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		pieces, err := e.Generate(ctx, r)
		if err != nil {
			yield(Chunk{}, explain(err, r))
			return
		}
		state := &choiceState{
			request: r,
			choice:  number,
			stopper: stopper{stops: r.Sampling.Stop, include: r.Sampling.IncludeStop},
		}
		for piece, err := range pieces {
			if state.ended {
				continue // read on: breaking out would cancel the engine's request
			}
			if err != nil {
				yield(Chunk{}, explain(err, r))
				return
			}
			chunk := state.next(piece)
			if !chunk.isEmpty() && !yield(chunk, nil) || chunk.Stop != nil {
				return
			}
		}
		switch err := ctx.Err(); {
		case state.ended:
		case err != nil: // the request was canceled before the end of the choice
			yield(Chunk{}, fault.As(err))
		default:
			yield(state.end(), nil)
		}
	}
}

func (c Chunk) isEmpty() bool {
	return c.Text == "" && len(c.Logprobs) == 0 && c.Finish == "" && c.Tokens == 0 && c.PromptTokens == 0
}

// choiceState is the state of one choice while it is written.
type choiceState struct {
	request Request
	choice  int
	stopper stopper
	pieces  int
	tokens  int  // as counted by the engine
	ended   bool // the engine has given a finish reason
}

// next turns a piece into a chunk. A stop string ends the choice.
func (s *choiceState) next(piece Piece) Chunk {
	s.pieces++
	s.tokens += piece.Tokens
	s.ended = piece.Finish != ""
	chunk := Chunk{Choice: s.choice, Piece: piece}
	if minimum := s.request.Sampling.MinTokens; minimum != nil && s.tokens > 0 && s.tokens <= *minimum {
		return chunk // stop strings have no effect before min_tokens
	}
	chunk.Text, chunk.Stop = s.stopper.feed(piece.Text)
	switch {
	case chunk.Stop != nil:
		chunk.Finish = "stop"
	case piece.Finish != "":
		chunk.Text += s.stopper.flush()
	}
	return chunk
}

// end returns the last chunk of a choice whose engine gave no finish reason.
func (s *choiceState) end() Chunk {
	chunk := Chunk{Choice: s.choice, Piece: Piece{Text: s.stopper.flush(), Finish: "stop"}}
	written := s.tokens
	if written == 0 && s.request.Stream {
		written = s.pieces // an engine that counts nothing sends a piece for each token
	}
	if maximum := s.request.Sampling.MaxTokens; maximum != nil && written >= *maximum {
		chunk.Finish = "length"
	}
	return chunk
}
