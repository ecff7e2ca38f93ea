package chat

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// tensorrt speaks the two contracts of TensorRT-LLM's backend, in which each
// setting is a tensor of its own: https://github.com/triton-inference-server/tensorrtllm_backend
//
// The ensemble (or bls model) takes images as pixels, the llmapi model as
// data: URLs. Neither counts tokens; only llmapi says why an answer ended.
type tensorrt struct {
	engine
	names   tensorrtNames
	images  *vision.Loader
	width   int // of images sent as pixels; 0 is the size of the largest
	height  int
	growing bool // each response holds the text so far
}

// tensorrtNames are the tensor names of one contract.
type tensorrtNames struct {
	maxTokens, stream, stop, exclude, pixels, url string
	settings                                      map[string]string
	wants                                         []string
}

var ensembleNames = tensorrtNames{
	maxTokens: "max_tokens", stream: "stream", stop: "stop_words", exclude: "exclude_input_in_output",
	pixels: "image_bytes_input", url: "image_url_input",
	settings: map[string]string{
		"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "seed": "seed", "min_tokens": "min_tokens",
		"repetition_penalty": "repetition_penalty", "presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty",
	},
}

var llmapiNames = tensorrtNames{
	maxTokens: "sampling_param_max_tokens", stream: "streaming", stop: "sampling_param_stop",
	exclude: "sampling_param_exclude_input_from_output", url: "image_url",
	settings: map[string]string{
		"temperature": "sampling_param_temperature", "top_p": "sampling_param_top_p", "top_k": "sampling_param_top_k",
		"seed": "sampling_param_seed", "min_tokens": "sampling_param_min_tokens", "ignore_eos": "sampling_param_ignore_eos",
		"repetition_penalty": "sampling_param_repetition_penalty", "presence_penalty": "sampling_param_presence_penalty",
		"frequency_penalty": "sampling_param_frequency_penalty",
	},
	wants: []string{"return_finish_reason"},
}

const (
	tensorrtText      = "text_input"
	tensorrtOutText   = "text_output"
	tensorrtOutFinish = "finish_reason"
)

// Generate streams one answer.
func (t *tensorrt) Generate(ctx context.Context, p Prompt) (iter.Seq2[Piece, error], error) {
	inputs, err := t.inputs(p)
	if err != nil {
		return nil, err
	}
	if len(p.Images) > 0 {
		image, err := t.image(ctx, p.Images)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, image)
	}
	shown := ""
	return t.stream(ctx, inputs, func(r *triton.Response) (Piece, error) {
		piece, err := t.piece(r)
		piece.Text = strings.TrimPrefix(piece.Text, p.Text) // deployments that echo the prompt
		if t.growing {
			piece.Text, shown = strings.TrimPrefix(piece.Text, shown), piece.Text
		}
		return piece, err
	})
}

func (t *tensorrt) inputs(p Prompt) ([]triton.Tensor, error) {
	most, err := t.number(t.names.maxTokens, float64(*p.Sampling.MaxTokens))
	if err != nil {
		return nil, err
	}
	inputs := []triton.Tensor{t.text(tensorrtText, p.Text), most}
	settings := p.Sampling.set()
	for _, name := range slices.Sorted(mapKeys(settings)) {
		value, isNumber := asNumber(settings[name])
		input := t.names.settings[name]
		if !isNumber || input == "" || !t.has(input) || name == "top_k" && value < 1 {
			continue // supports has let through only what may be left out
		}
		tensor, err := t.number(input, value)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, tensor)
	}
	if len(p.Sampling.Stop) > 0 && t.has(t.names.stop) {
		inputs = append(inputs, t.text(t.names.stop, p.Sampling.Stop...))
	}
	flags := map[string]bool{t.names.stream: p.Stream && t.config.Decoupled, t.names.exclude: true}
	for _, want := range t.names.wants {
		flags[want] = true
	}
	for _, name := range slices.Sorted(mapKeys(flags)) {
		if t.has(name) {
			inputs = append(inputs, t.flag(name, flags[name]))
		}
	}
	return inputs, nil
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// image is the one tensor with all images: pixels [1, n, h, w, 3], which the
// backend advises for gRPC, where the model takes them, else URLs.
func (t *tensorrt) image(ctx context.Context, images []*vision.Image) (triton.Tensor, error) {
	if t.names.pixels == "" || !t.has(t.names.pixels) {
		if !t.has(t.names.url) {
			return triton.Tensor{}, fault.New(fault.Internal, "model %s declares no input for images that is known", t.config.Name)
		}
		urls := make([]string, len(images))
		for i, img := range images {
			urls[i] = img.DataURL()
		}
		return t.text(t.names.url, urls...), nil
	}
	pixels, width, height, err := t.images.RGB(ctx, images, t.width, t.height)
	if err != nil {
		return triton.Tensor{}, err
	}
	shape := t.shape(int64(len(images)), int64(height), int64(width), 3)
	return triton.New(t.names.pixels, shape, pixels), nil
}

func (t *tensorrt) piece(r *triton.Response) (piece Piece, err error) {
	text, err := r.Output(tensorrtOutText)
	if err != nil {
		return piece, err
	}
	if piece.Text, err = only(text); err != nil {
		return piece, err
	}
	if finish, err := r.Output(tensorrtOutFinish); err == nil {
		if piece.Finish, err = only(finish); err != nil {
			return piece, err
		}
	}
	switch piece.Finish {
	case "", "None", "not_finished", "NOT_FINISHED":
		piece.Finish = ""
	case "length", "LENGTH":
		piece.Finish = "length"
	default:
		piece.Finish = "stop"
	}
	return piece, nil
}

// imageSize reads the parameter image_size, "504x504", of models whose pixels
// must have one size.
func imageSize(text string) (width, height int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	if n, err := fmt.Sscanf(text, "%dx%d", &width, &height); n != 2 || err != nil || width < 1 || height < 1 || width > 8192 || height > 8192 {
		return 0, 0, fmt.Errorf("parameter image_size %q is no size like 504x504", text)
	}
	return width, height, nil
}
