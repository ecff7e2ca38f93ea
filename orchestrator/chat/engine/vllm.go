package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// vllm speaks the contract of Triton's vLLM backend, which Retort's models speak too:
// https://github.com/triton-inference-server/vllm_backend
//
//	text_input               BYTES [1]   the finished prompt
//	image                    BYTES [n]   files in base64, in the prompt's order
//	stream                   BOOL [1]    pieces as they are written, else one
//	sampling_parameters      BYTES [1]   JSON object; max_tokens is always there
//	exclude_input_in_output  BOOL [1]    always true
//	return_finish_reason, return_num_input_tokens, return_num_output_tokens,
//	return_logprobs          BOOL [1]    sent where the model declares them
//
//	text_output              BYTES [1]   new text
//	finish_reason            BYTES [1]   "None" on all but the last
//	num_input_tokens         UINT32      of the prompt; also without dimensions
//	num_output_tokens        UINT32 [1]  new tokens
//	logprobs                 BYTES [1]   JSON, see parseLogprobs
type vllm struct {
	model
	guide string // name of the setting that holds answers to a form: guideSetting or oldGuideSetting
}

// Tensor names of the contract.
const (
	vllmText       = "text_input"
	vllmImage      = "image"
	vllmStream     = "stream"
	vllmSampling   = "sampling_parameters"
	vllmExclude    = "exclude_input_in_output"
	vllmWantFinish = "return_finish_reason"
	vllmWantInput  = "return_num_input_tokens"
	vllmWantOutput = "return_num_output_tokens"
	vllmWantLogs   = "return_logprobs"

	vllmOutText   = "text_output"
	vllmOutFinish = "finish_reason"
	vllmOutInput  = "num_input_tokens"
	vllmOutOutput = "num_output_tokens"
	vllmOutLogs   = "logprobs"
)

// vllmSettings are the settings that a model of this contract knows: all, but log probabilities only where it declares
// them.
func (m *model) vllmSettings() []string {
	return slices.DeleteFunc(slices.Clone(settingNames), func(name string) bool {
		return name == "logprobs" && !m.has(vllmWantLogs)
	})
}

// Generate writes one answer.
func (v *vllm) Generate(ctx context.Context, p Prompt) (iter.Seq2[Piece, error], error) {
	sampling, err := v.sampling(p.Sampling)
	if err != nil {
		return nil, err
	}
	inputs := []triton.Tensor{
		v.texts(vllmText, p.Text),
		v.texts(vllmSampling, sampling),
		v.flag(vllmStream, p.Stream),
		v.flag(vllmExclude, true),
	}
	if images := p.Images.All(); len(images) > 0 {
		files := make([]string, len(images))
		for i, img := range images {
			files[i] = img.Base64()
		}
		inputs = append(inputs, v.texts(vllmImage, files...))
	}
	for _, name := range []string{vllmWantFinish, vllmWantInput, vllmWantOutput, vllmWantLogs} {
		if v.has(name) && (name != vllmWantLogs || p.Sampling.Logprobs != nil) {
			inputs = append(inputs, v.flag(name, true))
		}
	}
	return v.stream(ctx, inputs, func(r *triton.Response) (Piece, error) { return v.piece(r, p) })
}

// sampling writes sampling_parameters: only what is set, since the backend answers what it does not know, and nulls,
// with an error about itself.
func (v *vllm) sampling(s Sampling) (string, error) {
	all := s.settings()
	all["max_tokens"] = *s.MaxTokens
	if s.Guide != nil {
		guide, err := s.Guide.forVLLM()
		if err != nil {
			return "", err
		}
		delete(all, guideSetting)
		all[v.guide] = guide
	}
	if len(s.Stop) > 0 {
		all["stop"] = s.Stop
		all["include_stop_str_in_output"] = true // so that we see which one it was
	}
	text, err := json.Marshal(all, json.Deterministic(true))
	return string(text), err
}

// piece reads one response.
func (v *vllm) piece(r *triton.Response, p Prompt) (piece Piece, err error) {
	texts, err := r.Output(vllmOutText)
	if err != nil {
		return piece, err
	}
	if piece.Text, err = oneText(texts); err != nil {
		return piece, err
	}
	for _, out := range r.Outputs {
		switch out.Name {
		case vllmOutFinish:
			piece.Finish, err = oneText(out)
		case vllmOutInput:
			piece.InputTokens, err = tokenCount(out)
		case vllmOutOutput:
			piece.Tokens, err = tokenCount(out)
		case vllmOutLogs:
			var text string
			if text, err = oneText(out); err == nil && p.Sampling.Logprobs != nil {
				piece.Logprobs, err = parseLogprobs([]byte(text), *p.Sampling.Logprobs)
			}
		}
		if err != nil {
			return piece, err
		}
	}
	return piece, v.finish(&piece)
}

// finish reads a finish reason: "None" is Python's.
func (v *vllm) finish(piece *Piece) error {
	switch piece.Finish {
	case "None":
		piece.Finish = ""
	case "", "stop", "length":
	case "abort":
		return fault.New(fault.Unavailable, "the engine gave the request up")
	default:
		piece.Finish = "stop"
	}
	return nil
}
