package engine

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// tensorrt speaks the two contracts of TensorRT-LLM's backend, in which each setting is a tensor:
// https://github.com/triton-inference-server/tensorrtllm_backend
//
// The ensemble (or bls model) takes images as pixels, the llmapi model as data: URLs. Neither counts tokens; only
// llmapi says why an answer ended.
type tensorrt struct {
	model
	names   tensorrtNames
	width   int // in pixels, of images sent as pixels; 0 is that of the largest
	height  int
	growing bool // each response holds the whole text so far
}

func newTensorRT(m model, names tensorrtNames, width, height int, growing bool) *tensorrt {
	if m.known == nil {
		for setting, input := range names.settings {
			if m.has(input) {
				m.known = append(m.known, setting)
			}
		}
		if m.has(names.guideType) && m.has(names.guide) {
			m.known = append(m.known, guideSetting)
		}
	}
	return &tensorrt{model: m, names: names, width: width, height: height, growing: growing}
}

// Generate writes one answer.
func (t *tensorrt) Generate(ctx context.Context, p Prompt) (iter.Seq2[Piece, error], error) {
	inputs, err := t.inputs(p)
	if err != nil {
		return nil, err
	}
	if len(p.Images.All()) > 0 {
		image, err := t.image(ctx, p.Images)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, image)
	}
	shown := "" // the text of the response before, where responses grow
	return t.stream(ctx, inputs, func(r *triton.Response) (Piece, error) {
		piece, err := t.piece(r)
		piece.Text = strings.TrimPrefix(piece.Text, p.Text) // deployments that echo the prompt
		if t.growing {
			whole := piece.Text
			piece.Text = strings.TrimPrefix(whole, shown)
			shown = whole
		}
		return piece, err
	})
}

func (t *tensorrt) inputs(p Prompt) ([]triton.Tensor, error) {
	most, err := t.number(t.names.maxTokens, *p.Sampling.MaxTokens)
	if err != nil {
		return nil, err
	}
	inputs := []triton.Tensor{t.texts(tensorrtText, p.Text), most}
	settings := p.Sampling.settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		input := t.names.settings[name]
		if input == "" || !t.has(input) || name == "top_k" && *p.Sampling.TopK < 1 {
			continue // Check has let through only what may be left out
		}
		tensor, err := t.number(input, settings[name])
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, tensor)
	}
	if guide := p.Sampling.Guide; guide != nil {
		kind, text, ok := guide.forTensorRT()
		if !ok {
			return nil, guideUnsupported(guide)
		}
		inputs = append(inputs, t.texts(t.names.guideType, kind), t.texts(t.names.guide, text))
	}
	if len(p.Sampling.Stop) > 0 && t.has(t.names.stop) {
		inputs = append(inputs, t.texts(t.names.stop, p.Sampling.Stop...))
	}
	return append(inputs, t.flags(p)...), nil
}

// flags are the switches of the contract, where the model declares them.
func (t *tensorrt) flags(p Prompt) (inputs []triton.Tensor) {
	add := func(name string, value bool) {
		if t.has(name) {
			inputs = append(inputs, t.flag(name, value))
		}
	}
	add(t.names.stream, p.Stream && t.config.Decoupled)
	add(t.names.exclude, true)
	for _, want := range t.names.wants {
		add(want, true)
	}
	return inputs
}

// piece reads one response.
func (t *tensorrt) piece(r *triton.Response) (piece Piece, err error) {
	text, err := r.Output(tensorrtOutText)
	if err != nil {
		return piece, err
	}
	if piece.Text, err = oneText(text); err != nil {
		return piece, err
	}
	if finish, err := r.Output(tensorrtOutFinish); err == nil {
		if piece.Finish, err = oneText(finish); err != nil {
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

// image is the one tensor with all images: pixels [1, n, h, w, 3], which the backend advises for gRPC, where the model
// takes them, else URLs.
func (t *tensorrt) image(ctx context.Context, set *vision.Set) (triton.Tensor, error) {
	if t.names.pixels == "" || !t.has(t.names.pixels) {
		if !t.has(t.names.url) {
			return triton.Tensor{}, fault.New(fault.Internal, "model %s declares no input for images that is known", t.config.Name)
		}
		urls := make([]string, len(set.All()))
		for i, img := range set.All() {
			urls[i] = img.DataURL()
		}
		return t.texts(t.names.url, urls...), nil
	}
	pixels, width, height, err := set.RGB(ctx, t.width, t.height)
	if err != nil {
		return triton.Tensor{}, err
	}
	shape := t.shape(int64(len(set.All())), int64(height), int64(width), 3)
	return triton.New(t.names.pixels, shape, pixels), nil
}
