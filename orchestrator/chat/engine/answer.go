package engine

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
)

// Chunk is a piece of one choice on its way to the client.
type Chunk struct {
	Choice int // from 0
	Piece
	// Stop is the stop string that ended the answer; nil for any other end.
	Stop *string
}

// Answer writes as many answers (choices) to a prompt as its settings ask for, all at the same time. Each is a separate
// request to the engine, since contracts and engines disagree about several in one. The sequence may be read once;
// leaving it early, or the end of ctx, ends the work. The last chunk of each choice has a finish reason. An error is
// the last element; it is Invalid where the engine's words say that the request is to blame.
func Answer(ctx context.Context, e Engine, p Prompt) iter.Seq2[Chunk, error] {
	if p.Sampling.N <= 1 {
		return choice(ctx, e, p, 0)
	}
	return func(yield func(Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		chunks := make(chan Chunk)
		work, ctx := errgroup.WithContext(ctx)
		for i := range p.Sampling.N {
			work.Go(fault.Guard(func() error { return forward(ctx, e, p, i, chunks) }))
		}
		ended := make(chan error, 1)
		go func() { ended <- work.Wait(); close(chunks) }()
		for c := range chunks {
			if !yield(c, nil) {
				cancel()
				for range chunks { // the others end when their context does
				}
				return
			}
		}
		if err := <-ended; err != nil {
			yield(Chunk{}, err)
		}
	}
}

// forward sends the chunks of one choice on.
func forward(ctx context.Context, e Engine, p Prompt, number int, chunks chan<- Chunk) error {
	for c, err := range choice(ctx, e, p, number) {
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

// choice writes one answer. Its last chunk has a finish reason.
func choice(ctx context.Context, e Engine, p Prompt, number int) iter.Seq2[Chunk, error] {
	if seed := p.Sampling.Seed; seed != nil && number > 0 {
		next := *seed + int64(number) // as vLLM: choices differ, and each can be had again
		p.Sampling.Seed = &next
	}
	return func(yield func(Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		pieces, err := e.Generate(ctx, p)
		if err != nil {
			yield(Chunk{}, explain(err, p))
			return
		}
		w := &writing{prompt: p, choice: number, stopper: stopper{stops: p.Sampling.Stop, include: p.Sampling.IncludeStop}}
		for piece, err := range pieces {
			if w.ended {
				continue // read to the end, so that the engine's request is not cancelled
			}
			if err != nil {
				yield(Chunk{}, explain(err, p))
				return
			}
			chunk := w.next(piece)
			if !chunk.empty() && !yield(chunk, nil) || chunk.Stop != nil {
				return
			}
		}
		switch err := ctx.Err(); {
		case w.ended:
		case err != nil: // the engine was stopped before the end of the answer
			yield(Chunk{}, fault.As(err))
		default:
			yield(w.end(), nil)
		}
	}
}
