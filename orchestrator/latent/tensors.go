package latent

import (
	"fmt"
	"slices"

	"retort/orchestrator/triton"
)

// Tensors of the entries: orchestrator/docs/operate/LATENT.md. Shapes are without the rows.
const (
	tensorIDs         = "input_ids"      // INT64 [tokens], padded
	tensorMask        = "attention_mask" // INT64 [tokens], 0 for padding; optional
	tensorSMILES      = "smiles"         // BYTES [1], in place of token ids; input of the encoder, output of the decoder
	tensorHiddens     = "hiddens"        // FP32 [size] or [vectors, size]; output of the encoder, input of the decoders
	tensorEmbedding   = "embedding"      // FP32 [size of the embedding]; optional output of the encoder
	tensorTemperature = "temperature"    // FP32 [1]; optional
	tensorSeed        = "seed"           // INT64 [1]; optional
	tensorBeamSize    = "beam_size"      // INT64 [1]
	tensorTokens      = "token_ids"      // INT64 [tokens], or [beams, tokens] from the beam decoder
	tensorLogits      = "logits"         // FP32 [tokens, vocabulary], in place of tensorTokens
	tensorScore       = "score"          // FP32 [beams], of the beam decoder
)

// encoderTensors is how an encoder receives molecules, as its entry declares it.
type encoderTensors struct {
	readsText bool // the input is smiles, else token ids
	hasMask   bool
	width     int   // tokens of a row if the entry fixes them, else 0
	vectors   int   // number of vectors of a hidden state
	size      int   // numbers of a hidden state
	bos, eos  int32 // ids around a row, or -1
}

// decoderTensors is how a decoder receives hidden states and returns molecules, as its entry declares it.
type decoderTensors struct {
	shape          []int64 // of the hidden state, without the rows
	hasTemperature bool
	hasSeed        bool
	output         string // tensorTokens, tensorLogits or tensorSMILES
}

// readEncoderTensors records a problem of r for each tensor that the gateway cannot serve.
func readEncoderTensors(r *triton.EntryReader) (t encoderTensors) {
	checkInputs(r, tensorIDs, tensorMask, tensorSMILES)
	checkOptional(r, tensorMask, triton.INT64)
	ids, hasIDs := r.Config.Input(tensorIDs)
	text, hasText := r.Config.Input(tensorSMILES)
	_, t.hasMask = r.Config.Input(tensorMask)
	t.readsText = hasText
	switch {
	case hasIDs == hasText:
		r.Check(fmt.Errorf("an encoder has either the input %s or the input %s", tensorIDs, tensorSMILES))
	case hasText:
		checkTensor(r, text, triton.BYTES, 1)
	default:
		if checkTensor(r, ids, triton.INT64, 1) {
			t.width = int(max(0, rowShape(r, ids)[0]))
		}
	}
	hiddens, ok := r.Config.Output(tensorHiddens)
	if !ok {
		r.Check(fmt.Errorf("an encoder has the output %s", tensorHiddens))
		return t
	}
	shape := rowShape(r, hiddens)
	if hiddens.Datatype != triton.FP32 || len(shape) < 1 || len(shape) > 2 || slices.Min(shape) < 1 {
		r.Check(fmt.Errorf("output %s is %s %v, not FP32 of one or two fixed dimensions",
			tensorHiddens, hiddens.Datatype, shape))
		return t
	}
	t.vectors = 1
	if len(shape) == 2 {
		t.vectors = int(shape[0])
	}
	t.size = triton.Tensor{Shape: shape}.Elements()
	return t
}

// readDecoderTensors is readEncoderTensors for a decoder, or a beam decoder, of hidden states of size numbers.
func readDecoderTensors(r *triton.EntryReader, size int, beams bool) (t decoderTensors) {
	hiddens, ok := r.Config.Input(tensorHiddens)
	t.shape = rowShape(r, hiddens)
	if !ok || hiddens.Datatype != triton.FP32 || (triton.Tensor{Shape: t.shape}).Elements() != size {
		r.Check(fmt.Errorf("model %s has no input %s FP32 of %d numbers, the size of the encoder's output",
			r.Name, tensorHiddens, size))
	}
	if beams {
		checkInputs(r, tensorHiddens, tensorBeamSize)
		checkOptional(r, tensorBeamSize, triton.INT64)
		requireOutput(r, tensorTokens, triton.INT64, 2)
		requireOutput(r, tensorScore, triton.FP32, 1)
		return t
	}
	checkInputs(r, tensorHiddens, tensorTemperature, tensorSeed)
	checkOptional(r, tensorTemperature, triton.FP32)
	checkOptional(r, tensorSeed, triton.INT64)
	_, t.hasTemperature = r.Config.Input(tensorTemperature)
	_, t.hasSeed = r.Config.Input(tensorSeed)
	for _, name := range []string{tensorTokens, tensorLogits, tensorSMILES} {
		if _, ok := r.Config.Output(name); ok && t.output == "" {
			t.output = name
		}
	}
	switch t.output {
	case tensorTokens:
		requireOutput(r, tensorTokens, triton.INT64, 1)
	case tensorLogits:
		requireOutput(r, tensorLogits, triton.FP32, 2)
	case tensorSMILES:
		requireOutput(r, tensorSMILES, triton.BYTES, 1)
	default:
		r.Check(fmt.Errorf("a decoder has an output %s, %s or %s", tensorTokens, tensorLogits, tensorSMILES))
	}
	return t
}

// checkInputs records a problem for each input that is neither optional nor among the known ones.
func checkInputs(r *triton.EntryReader, known ...string) {
	for _, in := range r.Config.Inputs {
		if !in.Optional && !slices.Contains(known, in.Name) {
			r.Check(fmt.Errorf("input %s is unknown: the gateway does not send it", in.Name))
		}
	}
}

// checkOptional records a problem if an input of one dimension is declared with another datatype or shape.
func checkOptional(r *triton.EntryReader, name string, datatype triton.Datatype) {
	if in, ok := r.Config.Input(name); ok {
		checkTensor(r, in, datatype, 1)
	}
}

func requireOutput(r *triton.EntryReader, name string, datatype triton.Datatype, dimensions int) {
	out, ok := r.Config.Output(name)
	if !ok {
		r.Check(fmt.Errorf("the output %s is missing", name))
		return
	}
	checkTensor(r, out, datatype, dimensions)
}

// checkTensor records a problem unless a tensor has a datatype and a number of dimensions.
func checkTensor(r *triton.EntryReader, t triton.TensorInfo, datatype triton.Datatype, dimensions int) (ok bool) {
	ok = t.Datatype == datatype && len(rowShape(r, t)) == dimensions
	if !ok {
		r.Check(fmt.Errorf("tensor %s is %s %v, not %s of %d dimensions",
			t.Name, t.Datatype, t.Shape, datatype, dimensions))
	}
	return ok
}

// rowShape returns the shape of a tensor without the rows. An entry without max_batch_size declares the rows too.
func rowShape(r *triton.EntryReader, t triton.TensorInfo) []int64 {
	if r.Config.MaxBatch == 0 && len(t.Shape) > 0 {
		return t.Shape[1:]
	}
	return t.Shape
}
