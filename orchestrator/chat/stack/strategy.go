package stack

import (
	"bytes"
	"encoding/json"

	"retort/orchestrator/wire"
)

// Strategy is greedy, top_p or top_k: a name, or in the newer form an object with the strategy's settings.
type Strategy struct {
	Type        string
	Temperature *float64
	TopP        *float64
	TopK        *int
}

// UnmarshalJSON decodes "greedy" or {"type": "top_p", "top_p": 0.9, …}.
func (s *Strategy) UnmarshalJSON(data []byte) error {
	var object struct {
		Type        string   `json:"type"`
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
		TopK        *int     `json:"top_k"`
	}
	err := json.Unmarshal(data, &object.Type)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		err = json.Unmarshal(data, &object)
	}
	switch {
	case err != nil:
		return &wire.Mismatch{Rule: "value_error", Message: "Input should be a sampling strategy: greedy, top_p or top_k"}
	case object.Type != "greedy" && object.Type != "top_p" && object.Type != "top_k":
		return &wire.Mismatch{Rule: "literal_error", Message: "Input should be 'greedy', 'top_p' or 'top_k'"}
	}
	*s = Strategy(object)
	return nil
}
