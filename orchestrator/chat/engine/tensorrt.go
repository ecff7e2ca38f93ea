package engine

import (
	"context"
	"iter"
	"strings"

	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// tensorrt speaks the two contracts of TensorRT-LLM's backend, in which each setting is a tensor
// (https://github.com/triton-inference-server/tensorrtllm_backend).
//
// The ensemble (or bls model) accepts images as pixels, the llmapi model as data: URLs. Neither counts tokens, and only
// llmapi gives finish reasons.
type tensorrt struct {
	model
	names      tensorrtNames
	width      int // of images sent as pixels, in pixels; 0: that of the largest
	height     int
	cumulative bool // each response has the whole text so far
}

// tensorrtNames are the names of a contract's inputs, "" for those that it does not have.
type tensorrtNames struct {
	maxTokens     string
	stream        string
	stop          string
	excludePrompt string // omits the prompt from the answer
	pixels        string // images as pixels
	urls          string // images as data: URLs
	guideType     string
	guide         string
	returnFinish  string
	settingPrefix string // before the name of a setting
}

var ensemble = tensorrtNames{
	maxTokens:     "max_tokens",
	stream:        "stream",
	stop:          "stop_words",
	excludePrompt: "exclude_input_in_output",
	pixels:        "image_bytes_input",
	urls:          "image_url_input",
	guideType:     "guided_decoding_guide_type",
	guide:         "guided_decoding_guide",
}

var llmapi = tensorrtNames{
	maxTokens:     "sampling_param_max_tokens",
	stream:        "streaming",
	stop:          "sampling_param_stop",
	excludePrompt: "sampling_param_exclude_input_from_output",
	urls:          "image_url",
	returnFinish:  "return_finish_reason",
	settingPrefix: "sampling_param_",
}

// tensorrtSettings are the settings for which a model may declare an input.
var tensorrtSettings = []string{
	"temperature", "top_p", "top_k", "seed", "min_tokens", "repetition_penalty", "presence_penalty", "frequency_penalty",
	"ignore_eos",
}

func newTensorRT(m model, names tensorrtNames, width, height int, cumulative bool) *tensorrt {
	if m.supported == nil {
		for _, setting := range tensorrtSettings {
			if m.has(names.settingPrefix + setting) {
				m.supported = append(m.supported, setting)
			}
		}
		if m.has(names.guideType) && m.has(names.guide) {
			m.supported = append(m.supported, guideSetting)
		}
	}
	return &tensorrt{model: m, names: names, width: width, height: height, cumulative: cumulative}
}

// Generate writes one choice.
func (t *tensorrt) Generate(ctx context.Context, req Request) (iter.Seq2[Piece, error], error) {
	inputs, err := t.inputs(req)
	if err != nil {
		return nil, err
	}
	if len(req.Images.All()) > 0 {
		images, err := t.images(ctx, req.Images)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, images)
	}
	previous := "" // text of the previous response, if cumulative
	return t.stream(ctx, inputs, func(piece *Piece, _ *triton.Response) error {
		piece.Text = strings.TrimPrefix(piece.Text, req.Prompt) // some deployments repeat the prompt
		if t.cumulative {
			whole := piece.Text
			piece.Text = strings.TrimPrefix(whole, previous)
			previous = whole
		}
		return nil
	})
}

// inputs returns all tensors of a request but the images.
func (t *tensorrt) inputs(req Request) ([]triton.Tensor, error) {
	maxTokens, err := t.numberTensor(t.names.maxTokens, *req.Sampling.MaxTokens)
	if err != nil {
		return nil, err
	}
	inputs := []triton.Tensor{t.stringTensor(inputText, req.Prompt), maxTokens}
	settings := req.Sampling.settings()
	for _, setting := range tensorrtSettings {
		input := t.names.settingPrefix + setting
		value, isSet := settings[setting]
		if !isSet || !t.has(input) || setting == "top_k" && *req.Sampling.TopK < 1 {
			continue // Check refuses what must not be ignored; top_k below 1 means all tokens
		}
		tensor, err := t.numberTensor(input, value)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, tensor)
	}
	if guide := req.Sampling.Guide; guide != nil {
		kind, text, ok := guide.forTensorRT()
		if !ok {
			return nil, guideUnsupported(guide)
		}
		inputs = append(inputs, t.stringTensor(t.names.guideType, kind), t.stringTensor(t.names.guide, text))
	}
	if len(req.Sampling.Stop) > 0 && t.has(t.names.stop) {
		inputs = append(inputs, t.stringTensor(t.names.stop, req.Sampling.Stop...))
	}
	for _, flag := range []struct {
		input string
		value bool
	}{
		{t.names.stream, req.Stream && t.config.Decoupled},
		{t.names.excludePrompt, true},
		{t.names.returnFinish, true},
	} {
		if t.has(flag.input) {
			inputs = append(inputs, t.boolTensor(flag.input, flag.value))
		}
	}
	return inputs, nil
}

// images returns the tensor with all images: pixels [1, n, height, width, 3] if the model accepts them, as the backend
// advises for gRPC, else URLs.
func (t *tensorrt) images(ctx context.Context, imgs *vision.Images) (triton.Tensor, error) {
	if t.has(t.names.pixels) {
		pixels, width, height, err := imgs.RGB(ctx, t.width, t.height)
		if err != nil {
			return triton.Tensor{}, err
		}
		shape := t.shape(int64(len(imgs.All())), int64(height), int64(width), 3)
		return triton.New(t.names.pixels, shape, pixels), nil
	}
	if !t.has(t.names.urls) {
		return triton.Tensor{}, fault.New(fault.Internal, "model %s declares no known input for images", t.config.Name)
	}
	urls := make([]string, len(imgs.All()))
	for i, img := range imgs.All() {
		urls[i] = img.DataURL()
	}
	return t.stringTensor(t.names.urls, urls...), nil
}
