package stack

import (
	"strings"

	"github.com/go-json-experiment/json"
)

// ModelDefinition is one model in the form of autumn 2024.
type ModelDefinition struct {
	Identifier string            `json:"identifier"`  // public id
	LlamaModel string            `json:"llama_model"` // the same
	Metadata   map[string]string `json:"metadata"`    // always empty
	ProviderID string            `json:"provider_id"`
	Type       string            `json:"type"` // "model"
}

// models lists the models, a line of JSON for each.
func (s *Service) models() (string, error) {
	if err := s.chat.Ready(); err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, id := range s.chat.Models() {
		line, err := json.Marshal(ModelDefinition{Identifier: id, LlamaModel: id, Metadata: map[string]string{}, ProviderID: "retort", Type: "model"})
		if err != nil {
			return "", err
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	return lines.String(), nil
}
