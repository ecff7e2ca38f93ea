package main

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/chat/stack"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/embedding"
	"retort/orchestrator/embedding/tei"
	"retort/orchestrator/gateway"
	"retort/orchestrator/latent"
	"retort/orchestrator/masked"
	"retort/orchestrator/oracle"
	"retort/orchestrator/ranking"
	"retort/orchestrator/ranking/rerank"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
)

// service is one documented API: its name, which is also its prefix on the main port, where its settings are, and how
// it is made.
type service struct {
	name   string
	title  string
	limits func(*Config) gateway.Config
	open   func(*application) gateway.API
	// byModel says that requests name their model, so that OpenAI's clients find the API's endpoints under the main
	// port's /v1 too.
	byModel bool
}

// services is the list: one line per documented API.
var services = []service{
	{name: "latent", title: "Latent-space molecules", limits: func(c *Config) gateway.Config { return c.Latent.Limits }, open: (*application).latent},
	{name: "masked", title: "Masked-template molecules", limits: func(c *Config) gateway.Config { return c.Masked.Limits }, open: (*application).masked},
	{name: "embedding", title: "Text embedding", limits: func(c *Config) gateway.Config { return c.Embedding.Limits }, open: (*application).embedding, byModel: true},
	{name: "ranking", title: "Passage ranking", limits: func(c *Config) gateway.Config { return c.Ranking.Limits }, open: (*application).ranking, byModel: true},
	{name: "chat", title: "Vision-language chat", limits: func(c *Config) gateway.Config { return c.Chat.Limits }, open: (*application).chat, byModel: true},
}

func (a *application) latent() gateway.API {
	models := triton.NewSetCatalog(a.registry, "latent", a.logger, func(n int) { a.metrics.ModelsReady("latent", n) },
		latent.Opener(a.client, a.batching("latent")))
	return latent.New(a.config.Latent.Room, models, a.oracles)
}

func (a *application) masked() gateway.API {
	options := a.batching("masked")
	options.MaxTokens = a.config.Masked.Room.BatchTokens
	return masked.New(a.config.Masked.Room, catalog(a, "masked", masked.Opener(a.client, options)), a.oracles)
}

// openOracles follows the models that score molecules for the molecule APIs.
func (a *application) openOracles() {
	open := oracle.Opener(a.client, a.config.Oracle, a.batching(oracle.API), a.metrics.Oracle)
	a.oracles = oracle.New(a.config.Oracle, catalog(a, oracle.API, open))
}

func (a *application) embedding() gateway.API {
	service := embedding.New(a.config.Embedding.Room, catalog(a, "embedding", embedding.Opener(a.client, a.batching("embedding"))))
	service.Mount(tei.New(service))
	return service
}

func (a *application) ranking() gateway.API {
	service := ranking.New(a.config.Ranking.Room, catalog(a, "ranking", ranking.Opener(a.client, a.batching("ranking"))))
	service.Mount(rerank.New(service))
	return service
}

func (a *application) chat() gateway.API {
	images := vision.NewLoader(a.config.Chat.Room.Image, a.memory)
	service := chat.New(a.config.Chat.Room, images, catalog(a, "chat", chat.Opener(a.client)))
	service.Mount(openai.New(service), stack.New(service))
	return service
}

// catalog follows the models of an API.
func catalog[T any](a *application, api string, open func(*triton.Model) (T, error)) *triton.Catalog[T] {
	models := triton.NewCatalog(a.registry, api, a.logger, func(n int) { a.metrics.ModelsReady(api, n) }, open)
	models.AlsoNamed(a.config.servedNames())
	return models
}

// batching is how the rows of an API's requests share calls to Triton.
func (a *application) batching(api string) batching.Options {
	return batching.Options{
		MaxTokens:   a.config.BatchTokens,
		Concurrency: a.config.BatchConcurrency,
		Observe:     func(b batching.Stats) { a.metrics.Batch(api, b.Rows, b.Padded) },
	}
}
