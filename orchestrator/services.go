package main

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/embedding"
	"retort/orchestrator/gateway"
	"retort/orchestrator/latent"
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
	{"latent", "Latent-space molecules", func(c *Config) gateway.Config { return c.Latent.API.Config }, (*house).latent},
	{"masked", "Masked-template molecules", func(c *Config) gateway.Config { return c.Masked.API.Config }, (*house).masked},
	{"embedding", "Text embedding", func(c *Config) gateway.Config { return c.Embedding.API.Config }, (*house).embedding},
	{"ranking", "Passage ranking", func(c *Config) gateway.Config { return c.Ranking.API.Config }, (*house).ranking},
	{"chat", "Vision-language chat", func(c *Config) gateway.Config { return c.Chat.API.Config }, (*house).chat},
}

func (h *house) latent() gateway.API {
	models := triton.NewSetCatalog(h.registry, "latent", h.logger, func(n int) { h.metrics.ModelsReady("latent", n) },
		latent.Opener(h.client, h.batching("latent")))
	oracles := catalog(h, latent.OracleAPI, latent.OracleOpener(h.client, h.batching(latent.OracleAPI)))
	return latent.New(h.config.Latent.Room, models, oracles)
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

func (h *house) chat() gateway.API {
	images := vision.NewLoader(h.config.Chat.Room.Image)
	return chat.New(h.config.Chat.Room, images, catalog(h, "chat", chat.Opener(h.client, images)))
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
