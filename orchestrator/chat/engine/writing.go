package engine

func (c Chunk) empty() bool {
	return c.Text == "" && len(c.Logprobs) == 0 && c.Finish == "" && c.Tokens == 0 && c.InputTokens == 0
}

// writing is one choice under way.
type writing struct {
	prompt  Prompt
	choice  int
	stopper stopper
	pieces  int
	tokens  int  // that the engine has counted
	ended   bool // the engine has given a finish reason
}

// next turns a piece into a chunk, and ends the answer where a stop string does.
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
		written = w.pieces // an engine that counts nothing sends a piece for each token
	}
	if most := w.prompt.Sampling.MaxTokens; most != nil && written >= *most {
		chunk.Finish = "length"
	}
	return chunk
}
