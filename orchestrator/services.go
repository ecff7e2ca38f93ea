package main

import (
	"retort/orchestrator/embedding"
	"retort/orchestrator/gateway"
	"retort/orchestrator/masked"
	"retort/orchestrator/ranking"
	"retort/orchestrator/triton"
)

// service is one documented API: its name, which is also its prefix on the
// main port, where its settings are, and how it is made.
type service struct {
	name   string
	title  string
	limits func(*Config) gateway.Config
	open   func(*house) gateway.API
}

// services is the list: one line per documented API.
var services = []service{
	{"masked", "Masked-template molecules", func(c *Config) gateway.Config { return c.Masked.API.Config }, (*house).masked},
	{"embedding", "Text embedding", func(c *Config) gateway.Config { return c.Embedding.API.Config }, (*house).embedding},
	{"ranking", "Passage ranking", func(c *Config) gateway.Config { return c.Ranking.API.Config }, (*house).ranking},
}

func (h *house) masked() gateway.API {
	batching := h.batching("masked")
	batching.MaxTokens = h.config.Masked.Room.BatchTokens
	return masked.New(h.config.Masked.Room, catalog(h, "masked", masked.Opener(h.client, batching)))
}

func (h *house) embedding() gateway.API {
	return embedding.New(h.config.Embedding.Room, catalog(h, "embedding", embedding.Opener(h.client, h.batching("embedding"))))
}

func (h *house) ranking() gateway.API {
	return ranking.New(h.config.Ranking.Room, catalog(h, "ranking", ranking.Opener(h.client, h.batching("ranking"))))
}

// catalog follows the models of an API.
func catalog[T any](h *house, api string, open func(*triton.Model) (T, error)) *triton.Catalog[T] {
	return triton.NewCatalog(h.registry, api, h.logger, func(n int) { h.metrics.ModelsReady(api, n) }, open)
}

// batching is how the rows of an API's requests share calls to Triton.
func (h *house) batching(api string) triton.BatchOptions {
	return triton.BatchOptions{
		MaxTokens:   h.config.BatchTokens,
		Concurrency: h.config.BatchConcurrency,
		Observe:     func(b triton.Batch) { h.metrics.Batch(api, b.Rows, b.Padded) },
	}
}
