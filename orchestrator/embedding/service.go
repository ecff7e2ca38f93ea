package embedding

import (
	"context"
	"math"
	"strings"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton/discovery"
)

// Service is the embedding API over the models that Triton currently serves.
type Service struct {
	config Config
	models *discovery.Catalog[Model]
	interfaces
}

// New returns the service over a catalog of models.
func New(config Config, models *discovery.Catalog[Model]) *Service {
	return &Service{config: config, models: models}
}

// Ready returns nil if at least one model is served.
func (s *Service) Ready() error { return s.models.Ready() }

// MaxInputs returns the upper bound of inputs in one request.
func (s *Service) MaxInputs() int { return s.config.MaxInputs }

// Models returns the public ids of the models that are served.
func (s *Service) Models() []string { return s.models.IDs() }

// DefaultID returns the public id of the model for a request that names none: the first two-mode model if the request
// gives a mode, else the first one-mode model. If there is no such model, it returns the first model of all.
func (s *Service) DefaultID(twoModes bool) (string, error) {
	for _, m := range s.models.All() {
		if about := m.About(); about.TwoModes == twoModes {
			return about.ID, nil
		}
	}
	first, err := s.models.Default("")
	if err != nil {
		return "", err
	}
	return first.About().ID, nil
}

// Find returns the model of a public id or, if id is nil, that of DefaultID.
func (s *Service) Find(id *string, twoModes bool) (Model, error) {
	if id != nil {
		return s.models.Find(*id)
	}
	name, err := s.DefaultID(twoModes)
	if err != nil {
		return nil, err
	}
	return s.models.Find(name)
}

// List answers GET /v1/models. The ids have no suffix for the mode.
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

// Entry returns the model of a public id. The error for an unknown id is that of a request.
func (s *Service) Entry(id string) (any, error) {
	m, err := s.models.Find(id)
	if err != nil {
		return nil, err
	}
	return Retrieved{listed(m), m.About().Unrelated}, nil
}

func listed(m Model) Listed {
	about := m.About()
	return Listed{ID: about.ID, Created: about.Created, Object: "model", OwnedBy: about.OwnedBy}
}

// Embed returns one vector per input, in order.
func (s *Service) Embed(ctx context.Context, r Request) (Response, error) {
	if f := fault.Items(r.Input.Len(), 1, s.config.MaxInputs, "input"); f != nil {
		return Response{}, f
	}
	model, mode, err := s.model(r)
	if err != nil {
		return Response{}, err
	}
	size, err := model.About().dimensions(r.Dimensions)
	if err != nil {
		return Response{}, err
	}
	texts, err := s.texts(r.Input)
	if err != nil {
		return Response{}, err
	}
	vectors, reading, err := model.Embed(ctx, Texts{
		Texts:     texts,
		Mode:      mode,
		Truncate:  r.Truncate,
		MaxChunks: s.config.MaxInputs,
	})
	if err != nil {
		return Response{}, err
	}
	return answer(r, vectors, size, reading), nil
}

// model returns the model of a request, and the mode, which InputType or a suffix of the model's name gives.
func (s *Service) model(r Request) (model Model, mode string, err error) {
	if r.InputType != nil {
		mode = *r.InputType
	}
	model, err = s.models.Find(r.Model)
	if err == nil {
		mode, err = model.About().mode(r.InputType, r.lenient || s.config.InputType == "lenient")
		return model, mode, err
	}
	id, suffix := cutMode(r.Model)
	model, idErr := s.models.Find(id)
	if suffix == "" || idErr != nil || !model.About().TwoModes {
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

// cutMode splits a model's name into id and mode. mode is "" if the name has no such suffix.
func cutMode(name string) (id, mode string) {
	for _, mode := range []string{"query", "passage"} {
		if id, ok := strings.CutSuffix(name, "-"+mode); ok {
			return id, mode
		}
	}
	return name, ""
}

// mode returns the mode of a request whose model name has no suffix. Unless the request is lenient, a model with two
// modes requires inputType, and any other model refuses it.
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

// dimensions returns the length of the vectors in the answer. A request for more than the model's Width gets Width, as
// from the hosted service.
func (a About) dimensions(requested *int) (int, error) {
	switch {
	case requested == nil:
		return a.Width, nil
	case a.LeastDimensions == a.Width:
		return 0, fault.Extra(*requested, "dimensions")
	case *requested < a.LeastDimensions:
		return 0, fault.AtLeast(*requested, a.LeastDimensions, "dimensions")
	}
	return min(*requested, a.Width), nil
}

func answer(r Request, vectors [][]float32, size int, reading encoder.Reading) Response {
	res := Response{
		Object: "list",
		Data:   make([]Datum, len(vectors)),
		Model:  r.Model,
		Usage: Usage{
			PromptTokens:    reading.Tokens,
			TotalTokens:     reading.Tokens,
			TruncatedTokens: reading.Truncated,
			Chunks:          reading.Chunks,
		},
	}
	for i, v := range vectors {
		res.Data[i] = Datum{Index: i, Object: "embedding", Embedding: represent(shorten(v, size), r)}
	}
	return res
}

// shorten returns the first size numbers of v, normalized again.
func shorten(v []float32, size int) []float32 {
	if size >= len(v) {
		return v
	}
	return normalized(v[:size])
}

// normalized returns v with length 1.
func normalized(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := make([]float32, len(v))
	norm := max(math.Sqrt(sum), math.SmallestNonzeroFloat32)
	for i, x := range v {
		out[i] = float32(float64(x) / norm)
	}
	return out
}
