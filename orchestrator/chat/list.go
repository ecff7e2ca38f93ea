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

// Entry is the entry of the model list with a public id. Its errors are those of a request that names the model.
func (s *Service) Entry(id string) (any, error) {
	m, err := s.models.Find(id)
	if err != nil {
		return nil, err
	}
	return m.card(), nil
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
