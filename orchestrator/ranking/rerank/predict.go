package rerank

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/ranking"
	"retort/orchestrator/wire"
)

// PredictRequest is the body of POST /predict. Unknown members are ignored, as at /rerank.
type PredictRequest struct {
	_ struct{} `bind:"open"`

	// Inputs are the texts or pairs to score.
	Inputs Inputs `json:"inputs" bind:"required"`
	// RawScores returns logits as scores.
	RawScores *bool `json:"raw_scores"`
	// Truncate cuts inputs that are too long; false refuses them. Default true.
	Truncate *bool `json:"truncate"`
	// TruncationDirection is the end that is cut. Rankers cut only the right one.
	TruncationDirection *string `json:"truncation_direction" oneof:"right Right"`
}

// Inputs have one input or a batch. An input is a text, or a query and a passage.
type Inputs struct {
	items [][]string
	batch bool
}

// Prediction is a label with its score: 0 to 1, or the logit with raw_scores.
type Prediction struct {
	Score float64 `json:"score"`
	Label string  `json:"label"`
}

// label is the only one that a ranker gives: transformers' name of a label without a name.
const label = "LABEL_0"

// maxInputs is the most inputs that are decoded, whatever the settings allow.
const maxInputs = 1 << 16

// UnmarshalJSON decodes "text", ["text"], ["query", "passage"] or a batch of such lists.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); !bytes.HasPrefix(data, []byte("[")) {
		text, err := decodeTexts(slices.Concat([]byte("["), data, []byte("]")))
		in.items = [][]string{text}
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	var first json.RawMessage
	if !decoder.More() {
		return nil
	}
	if err := decoder.Decode(&first); err != nil {
		return err
	}
	if in.batch = bytes.HasPrefix(first, []byte("[")); !in.batch {
		text, err := decodeTexts(data)
		in.items = [][]string{text}
		return err
	}
	return in.unmarshalBatch(data)
}

// unmarshalBatch decodes a list of lists, one by one: a body may have millions.
func (in *Inputs) unmarshalBatch(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for i := 0; decoder.More(); i++ {
		if i >= maxInputs {
			return tooMany.At()
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return err
		}
		item, err := decodeTexts(raw)
		if err != nil {
			return notInput.At(i)
		}
		in.items = append(in.items, item)
	}
	return nil
}

// decodeTexts decodes a list of one or two JSON strings. A longer list takes no memory.
func decodeTexts(list []byte) ([]string, error) {
	var items [3]json.RawMessage // json.Unmarshal skips what follows
	if json.Unmarshal(list, &items) != nil || items[0] == nil || items[2] != nil {
		return nil, notInput.At()
	}
	var texts []string
	for _, item := range items[:2] {
		if item == nil {
			break
		}
		var text *string
		if json.Unmarshal(item, &text) != nil || text == nil {
			return nil, notInput.At()
		}
		texts = append(texts, *text)
	}
	return texts, nil
}

var (
	tooMany  = wire.Mismatch{Rule: "too_long", Message: fmt.Sprintf("List should have at most %d items", maxInputs)}
	notInput = wire.Mismatch{
		Rule:    "list_type",
		Message: "Input should be a string, a pair [string, string], or a batch [[string], [string, string], ...]",
	}
)

// Validate checks what does not depend on the model.
func (r *PredictRequest) Validate() error {
	var problems fault.Problems
	problems.Add(fault.NotEmpty(len(r.Inputs.items), "inputs"))
	problems.AddEach(len(r.Inputs.items), func(i int) *fault.Error {
		for j, text := range r.Inputs.items[i] {
			if f := fault.Text(text, append(r.path(i), j)...); f != nil {
				return f
			}
		}
		return nil
	})
	return problems.Err()
}

// path returns the path of input i in the body.
func (r *PredictRequest) path(i int) []any {
	if r.Inputs.batch {
		return []any{"inputs", i}
	}
	return []any{"inputs"}
}

// Heavy reports whether a request may occupy a model for long: gateway.Heavy.
func (r *PredictRequest) Heavy() bool { return len(r.Inputs.items) > encoder.LightRows }

// Predict scores inputs in order. The answer is a []Prediction for one input and a [][]Prediction for a batch.
func (s *Service) Predict(ctx context.Context, r PredictRequest) (Scored, error) {
	if f := fault.Items(len(r.Inputs.items), 1, s.ranking.MaxPassages(), "inputs"); f != nil {
		return Scored{}, f
	}
	scores, err := s.ranking.ScoreInputs(ctx, ranking.Inputs{
		Items: r.Inputs.items,
		Cut:   r.Truncate == nil || *r.Truncate,
		Path:  r.path,
	})
	if err != nil {
		return Scored{}, err
	}
	answer := make([][]Prediction, len(scores.Logits))
	for i, logit := range scores.Logits {
		score := scores.Calibration.Score(logit)
		if isSet(r.RawScores) {
			score = float64(logit)
		}
		answer[i] = []Prediction{{Score: score, Label: label}}
	}
	if r.Inputs.batch {
		return Scored{answer, scores.Read}, nil
	}
	return Scored{answer[0], scores.Read}, nil
}
