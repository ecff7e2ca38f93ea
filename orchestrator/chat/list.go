package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// List is the model list.
func (s *Service) List(context.Context) (Models, error) {
	list := Models{Object: "list", Data: []ModelCard{}}
	if err := s.models.Ready(); err != nil {
		return list, err
	}
	for _, m := range s.models.All() {
		list.Data = append(list.Data, m.card())
	}
	return list, nil
}

// Entry is the entry of the model list with a public id, nil where there is none.
func (s *Service) Entry(id string) any {
	list, _ := s.List(context.Background()) // without a model it is empty
	for _, entry := range list.Data {
		if entry.ID == id {
			return entry
		}
	}
	return nil
}

// card describes the model as vLLM does: everything that the model can do is permitted to everyone.
func (m *Model) card() ModelCard {
	sum := sha256.Sum256([]byte(m.ID)) // the same in every list and replica
	return ModelCard{
		ID: m.ID, Object: "model", Created: m.Created, OwnedBy: m.OwnedBy, Root: m.ID, MaxModelLen: m.MaxLength,
		Permission: []Permission{{
			ID: "modelperm-" + hex.EncodeToString(sum[:16]), Object: "model_permission", Created: m.Created,
			AllowSampling: m.engine.Knows("temperature"), AllowLogprobs: m.engine.Knows("logprobs"), AllowView: true, Organization: "*",
		}},
	}
}
