package embedding

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton/discovery"
)

// Service is the embedding API over the models that Triton serves now.
type Service struct {
	config Config
	models *discovery.Catalog[Model]
	interfaces
}

// New returns the service over a catalog of models.
func New(config Config, models *discovery.Catalog[Model]) *Service {
	return &Service{config: config, models: models}
}

// Ready returns nil when at least one model can serve.
func (s *Service) Ready() error { return s.models.Ready() }

// MaxInputs is the most texts of one request.
func (s *Service) MaxInputs() int { return s.config.MaxInputs }

// Models lists the public ids of the models served now.
func (s *Service) Models() []string { return s.models.IDs() }

// Plain is the public id of the model for a request that names none: the first of those with two modes where the request
// says which mode, else the first with one, whose vectors can be compared without modes; of those there are none of, the
// first of all.
func (s *Service) Plain(twoModes bool) (string, error) {
	models := s.models.All()
	for _, m := range models {
		if about := m.About(); about.TwoModes == twoModes {
			return about.ID, nil
		}
	}
	if len(models) == 0 {
		return "", cmp.Or(s.Ready(), error(fault.New(fault.Unavailable, "No model is ready.")))
	}
	return models[0].About().ID, nil
}

// List is the model list: bare ids, without the suffixes of modes.
func (s *Service) List(context.Context) (Models, error) {
	list := Models{Object: "list", Data: []Listed{}}
	if err := s.models.Ready(); err != nil {
		return list, err
	}
	for _, m := range s.models.All() {
		list.Data = append(list.Data, listed(m))
	}
	return list, nil
}

// Entry is the entry of the model list with a public id. Its errors are those of a request that names the model.
func (s *Service) Entry(id string) (any, error) {
	m, err := s.models.Find(id)
	if err != nil {
		return nil, err
	}
	return listed(m), nil
}

// listed is a model's entry of the list.
func listed(m Model) Listed {
	about := m.About()
	return Listed{ID: about.ID, Created: about.Created, Object: "model", OwnedBy: about.OwnedBy}
}

// Embed returns one vector per input, in order.
func (s *Service) Embed(ctx context.Context, r Request) (Response, error) {
	if f := fault.Items(r.Input.Len(), 1, s.config.MaxInputs, "input"); f != nil {
		return Response{}, f
	}
	model, mode, err := s.choose(r)
	if err != nil {
		return Response{}, err
	}
	size, err := model.About().size(r.Dimensions)
	if err != nil {
		return Response{}, err
	}
	texts, err := s.texts(r.Input)
	if err != nil {
		return Response{}, err
	}
	vectors, tokens, err := model.Embed(ctx, texts, mode, r.Truncate)
	if err != nil {
		return Response{}, err
	}
	return answer(r, vectors, size, tokens), nil
}

// choose finds the model that a request names and the mode it asks for, through input_type or through the suffix of the
// name.
func (s *Service) choose(r Request) (model Model, mode string, err error) {
	if r.InputType != nil {
		mode = *r.InputType
	}
	model, err = s.models.Find(r.Model)
	if err == nil {
		mode, err = model.About().mode(r.InputType, r.lenient || s.config.InputType == "lenient")
		return model, mode, err
	}
	id, suffix := split(r.Model)
	model, unknown := s.models.Find(id)
	if suffix == "" || unknown != nil || !model.About().TwoModes {
		return nil, "", err
	}
	if mode != "" && mode != suffix {
		return nil, "", &fault.Error{
			Kind: fault.Invalid, Path: []any{"input_type"}, Input: mode,
			Message: "'input_type' is '" + mode + "' but the model name ends in '-" + suffix + "'",
		}
	}
	return model, suffix, nil
}

func split(name string) (id, mode string) {
	for _, mode := range []string{"query", "passage"} {
		if id, ok := strings.CutSuffix(name, "-"+mode); ok {
			return id, mode
		}
	}
	return name, ""
}

// mode checks input_type against the family of the model: the first needs it, the second refuses it. Lenient is a
// request that gets the model's default mode in place of the refusals.
func (a About) mode(inputType *string, lenient bool) (string, error) {
	switch {
	case a.TwoModes && inputType != nil:
		return *inputType, nil
	case a.TwoModes && lenient && a.DefaultMode != "":
		return a.DefaultMode, nil
	case a.TwoModes:
		return "", &fault.Error{
			Kind: fault.Invalid, Path: []any{"input_type"},
			Message: "'input_type' parameter is required for asymmetric models",
		}
	case inputType != nil && !lenient:
		return "", fault.Extra(*inputType, "input_type")
	}
	return "", nil
}

// size is the length of the vectors to return. A model without shorter vectors refuses the field; more than the model
// has gives what it has, as the hosted service does.
func (a About) size(asked *int) (int, error) {
	switch {
	case asked == nil:
		return a.Width, nil
	case a.LeastDimensions == a.Width:
		return 0, fault.Extra(*asked, "dimensions")
	case *asked < a.LeastDimensions:
		return 0, fault.AtLeast(*asked, a.LeastDimensions, "dimensions")
	}
	return min(*asked, a.Width), nil
}

func answer(r Request, vectors [][]float32, size, tokens int) Response {
	res := Response{
		Object: "list",
		Data:   make([]Datum, len(vectors)),
		Model:  r.Model,
		Usage:  Usage{PromptTokens: tokens, TotalTokens: tokens},
	}
	for i, v := range vectors {
		v = shorten(v, size)
		res.Data[i] = Datum{Index: i, Object: "embedding", Embedding: v}
		if r.EncodingFormat == "base64" {
			res.Data[i].Embedding = littleEndian(v)
		}
	}
	return res
}

// shorten cuts v to size and makes its length 1 again.
func shorten(v []float32, size int) []float32 {
	if size >= len(v) {
		return v
	}
	sum := 0.0
	for _, x := range v[:size] {
		sum += float64(x) * float64(x)
	}
	short := make([]float32, size)
	norm := max(math.Sqrt(sum), math.SmallestNonzeroFloat32)
	for i, x := range v[:size] {
		short[i] = float32(float64(x) / norm)
	}
	return short
}

// littleEndian is v as base64 of little-endian float32 bytes.
func littleEndian(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
