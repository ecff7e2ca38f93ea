package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"

	"retort/orchestrator/triton"
)

// vllm speaks the contract of Triton's vLLM backend (https://github.com/triton-inference-server/vllm_backend).
//
// Inputs:
//
//	text_input               BYTES [1]   prompt
//	image                    BYTES [n]   files in base64, in the prompt's order
//	stream                   BOOL [1]    pieces as they are written, else one
//	sampling_parameters      BYTES [1]   JSON object; always has max_tokens
//	exclude_input_in_output  BOOL [1]    always true
//	return_finish_reason, return_num_input_tokens, return_num_output_tokens,
//	return_logprobs          BOOL [1]    sent if the model declares them
//
// Outputs:
//
//	text_output              BYTES [1]   new text
//	finish_reason            BYTES [1]   "None" on all but the last
//	num_input_tokens         UINT32      of the prompt; may lack dimensions
//	num_output_tokens        UINT32 [1]  new tokens
//	logprobs                 BYTES [1]   JSON, see parseLogprobs
type vllm struct {
	model
	guide string // name of the guide in sampling_parameters: guideSetting or oldGuideSetting
}

// Tensors of this contract only.
const (
	vllmImage              = "image"
	vllmStream             = "stream"
	vllmSampling           = "sampling_parameters"
	vllmExcludeInput       = "exclude_input_in_output"
	vllmReturnFinish       = "return_finish_reason"
	vllmReturnInputTokens  = "return_num_input_tokens"
	vllmReturnOutputTokens = "return_num_output_tokens"
	vllmReturnLogprobs     = "return_logprobs"

	vllmInputTokens  = "num_input_tokens"
	vllmOutputTokens = "num_output_tokens"
	vllmLogprobs     = "logprobs"
)

// vllmSettings returns the settings that a model of this contract supports: all, except log probabilities if the model
// does not declare them.
func (m *model) vllmSettings() []string {
	return slices.DeleteFunc(slices.Clone(settingNames), func(name string) bool {
		return name == "logprobs" && !m.has(vllmReturnLogprobs)
	})
}

// Generate writes one choice.
func (v *vllm) Generate(ctx context.Context, req Request) (iter.Seq2[Piece, error], error) {
	sampling, err := v.samplingParameters(req.Sampling)
	if err != nil {
		return nil, err
	}
	inputs := []triton.Tensor{
		v.stringTensor(inputText, req.Prompt),
		v.stringTensor(vllmSampling, sampling),
		v.boolTensor(vllmStream, req.Stream),
		v.boolTensor(vllmExcludeInput, true),
	}
	if images := req.Images.All(); len(images) > 0 {
		files := make([]string, len(images))
		for i, img := range images {
			files[i] = img.Base64()
		}
		inputs = append(inputs, v.stringTensor(vllmImage, files...))
	}
	for _, name := range []string{vllmReturnFinish, vllmReturnInputTokens, vllmReturnOutputTokens, vllmReturnLogprobs} {
		if v.has(name) && (name != vllmReturnLogprobs || req.Sampling.Logprobs != nil) {
			inputs = append(inputs, v.boolTensor(name, true))
		}
	}
	return v.stream(ctx, inputs, func(piece *Piece, r *triton.Response) error {
		return piece.readCounts(r, req.Sampling.Logprobs)
	})
}

// samplingParameters returns the JSON text of sampling_parameters. It leaves out settings that are nil: the backend
// fails on null, as on a setting that it does not know.
func (v *vllm) samplingParameters(s Sampling) (string, error) {
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
		all["include_stop_str_in_output"] = true // shows the stopper which one it was
	}
	text, err := json.Marshal(all, json.Deterministic(true))
	return string(text), err
}

// readCounts reads the numbers of tokens and, unless topLogprobs is nil, the log probabilities of a response.
func (p *Piece) readCounts(r *triton.Response, topLogprobs *int) (err error) {
	for _, out := range r.Outputs {
		switch out.Name {
		case vllmInputTokens:
			p.PromptTokens, err = tokenCount(out)
		case vllmOutputTokens:
			p.Tokens, err = tokenCount(out)
		case vllmLogprobs:
			var text string
			if text, err = firstText(out); err == nil && topLogprobs != nil {
				p.Logprobs, err = parseLogprobs([]byte(text), *topLogprobs)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
