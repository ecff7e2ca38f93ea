package chat

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/chat/vision"
)

// Generator writes answers. One call is one answer, whatever the number of
// choices asked for. The sequence may be read once; leaving it, or the end of
// ctx, ends the work. What goes wrong before the first piece is Generate's own
// error.
type Generator interface {
	Generate(ctx context.Context, p Prompt) (iter.Seq2[Piece, error], error)
}

// Prompt is a finished request to a model.
type Prompt struct {
	// Text is the prompt with the template applied, or the plain question for
	// a model that applies its own.
	Text   string
	Images []*vision.Image
	// Sampling has its MaxTokens set.
	Sampling Sampling
	// Stream asks for pieces as they are written; else one piece may come.
	Stream bool
	// InputTokens is the length of the prompt, 0 where it is not known.
	InputTokens int
}

// Piece is what a model has written since the piece before.
type Piece struct {
	Text     string
	Logprobs []Logprob // of its tokens, when asked for
	// Tokens is how many they are, 0 where the engine does not say.
	Tokens int
	// InputTokens is the length of the prompt, 0 where it is not said.
	InputTokens int
	// Finish is set on the last piece: "stop" or "length".
	Finish string
}

// Chunk is a piece on its way to the client.
type Chunk struct {
	Choice int
	Piece
	// Stop is the stop string that ended the answer; nil for any other end.
	Stop *string
}

// generate has a prompt answered n times. Each choice is a request of its own
// to the engine: contracts and engines disagree about several in one.
func (m *Model) generate(ctx context.Context, p Prompt) iter.Seq2[Chunk, error] {
	if p.Sampling.N <= 1 {
		return m.choice(ctx, p, 0)
	}
	return func(yield func(Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		chunks := make(chan Chunk)
		work, ctx := errgroup.WithContext(ctx)
		for i := range p.Sampling.N {
			work.Go(func() error { return m.forward(ctx, p, i, chunks) })
		}
		ended := make(chan error, 1)
		go func() { ended <- work.Wait(); close(chunks) }()
		for c := range chunks {
			if !yield(c, nil) {
				cancel()
				for range chunks { // let the others go
				}
				return
			}
		}
		if err := <-ended; err != nil {
			yield(Chunk{}, err)
		}
	}
}

func (m *Model) forward(ctx context.Context, p Prompt, choice int, chunks chan<- Chunk) error {
	for c, err := range m.choice(ctx, p, choice) {
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
func (m *Model) choice(ctx context.Context, p Prompt, number int) iter.Seq2[Chunk, error] {
	if seed := p.Sampling.Seed; seed != nil && number > 0 {
		own := *seed + int64(number) // as vLLM: choices differ, and each can be had again
		p.Sampling.Seed = &own
	}
	return func(yield func(Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		pieces, err := m.generator.Generate(ctx, p)
		if err != nil {
			yield(Chunk{}, m.explain(err, p))
			return
		}
		w := &writing{model: m, prompt: p, choice: number, stopper: stopper{stops: p.Sampling.Stop, include: p.Sampling.IncludeStop}}
		for piece, err := range pieces {
			if err != nil {
				yield(Chunk{}, m.explain(err, p))
				return
			}
			if w.ended {
				continue // to the engine's own end, so that nothing is cancelled there
			}
			chunk := w.next(piece)
			if !chunk.empty() && !yield(chunk, nil) || chunk.Stop != nil {
				return
			}
		}
		if !w.ended {
			yield(w.end(), nil)
		}
	}
}

func (c Chunk) empty() bool {
	return c.Text == "" && len(c.Logprobs) == 0 && c.Finish == "" && c.Tokens == 0 && c.InputTokens == 0
}

// writing is one answer under way.
type writing struct {
	model   *Model
	prompt  Prompt
	choice  int
	stopper stopper
	pieces  int
	tokens  int
	ended   bool
}

// next turns a piece into a chunk, and ends the answer where a stop string
// does.
func (w *writing) next(piece Piece) Chunk {
	w.pieces++
	w.tokens += piece.Tokens
	w.ended = piece.Finish != ""
	chunk := Chunk{Choice: w.choice, Piece: piece}
	if least := w.prompt.Sampling.MinTokens; least != nil && w.tokens > 0 && w.tokens <= *least {
		return chunk // stop strings do not count yet
	}
	chunk.Text, chunk.Stop = w.stopper.feed(piece.Text)
	switch {
	case chunk.Stop != nil:
		chunk.Finish = "stop"
	case piece.Finish != "":
		chunk.Text += w.stopper.rest()
	}
	return chunk
}

// end closes an answer whose engine gave no reason for its end.
func (w *writing) end() Chunk {
	chunk := Chunk{Choice: w.choice, Piece: Piece{Text: w.stopper.rest(), Finish: "stop"}}
	written := w.tokens
	if written == 0 && w.prompt.Stream {
		written = w.pieces // engines that count nothing send a piece a token
	}
	if most := w.prompt.Sampling.MaxTokens; most != nil && written >= *most {
		chunk.Finish = "length"
	}
	return chunk
}
