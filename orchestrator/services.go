package main

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/anthropic"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/chat/stack"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/embedding"
	"retort/orchestrator/embedding/tei"
	"retort/orchestrator/gateway"
	"retort/orchestrator/latent"
	"retort/orchestrator/masked"
	"retort/orchestrator/ranking"
	"retort/orchestrator/ranking/rerank"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
)

// service is one documented API.
type service struct {
	name     string // also its prefix on the main port
	title    string
	limits   func(*Config) gateway.Config
	open     func(*resources) gateway.API
	byModel  bool     // requests name their model, so that the main port's /v1 can serve them to OpenAI's clients
	searches bool     // its searches can be jobs
	objects  []string // paths below the main port's /v1 that this API answers, with any method and any ending
}

// services are the documented APIs.
var services = []service{
	{
		name:     "latent",
		title:    "Latent-space molecules",
		limits:   func(c *Config) gateway.Config { return c.Latent.Limits },
		open:     openLatent,
		searches: true,
	},
	{
		name:     "masked",
		title:    "Masked-template molecules",
		limits:   func(c *Config) gateway.Config { return c.Masked.Limits },
		open:     openMasked,
		searches: true,
	},
	{
		name:    "embedding",
		title:   "Text embedding",
		limits:  func(c *Config) gateway.Config { return c.Embedding.Limits },
		open:    openEmbedding,
		byModel: true,
	},
	{
		name:    "ranking",
		title:   "Passage ranking",
		limits:  func(c *Config) gateway.Config { return c.Ranking.Limits },
		open:    openRanking,
		byModel: true,
	},
	{
		name:    "chat",
		title:   "Vision-language chat",
		limits:  func(c *Config) gateway.Config { return c.Chat.Limits },
		open:    openChat,
		byModel: true,
		objects: []string{"/responses", "/messages"},
	},
}

func openLatent(r *resources) gateway.API {
	open := latent.Opener(r.client, r.batching("latent"))
	models := discovery.NewSetCatalog(r.registry, "latent", r.logger, r.reportModels("latent"), open)
	return latent.New(r.config.Latent.Room, models, r.oracles, r.planner)
}

func openMasked(r *resources) gateway.API {
	options := r.batching("masked")
	options.MaxTokens = r.config.Masked.Room.BatchTokens
	return masked.New(r.config.Masked.Room, catalog(r, "masked", masked.Opener(r.client, options)), r.oracles, r.planner)
}

func openEmbedding(r *resources) gateway.API {
	open := embedding.Opener(r.client, r.batching("embedding"))
	service := embedding.New(r.config.Embedding.Room, catalog(r, "embedding", open))
	service.Mount(tei.New(service, r.teiLimits(r.config.Embedding.Limits, r.config.Embedding.Room.MaxInputs)))
	return service
}

// teiLimits returns what text-embeddings-inference's /info reports about an API.
func (r *resources) teiLimits(limits gateway.Config, inputs int) teibase.Limits {
	return teibase.Limits{
		Requests:    limits.Concurrency,
		Inputs:      inputs,
		BatchTokens: r.config.BatchTokens,
		Version:     version,
	}
}

func openRanking(r *resources) gateway.API {
	open := ranking.Opener(r.client, r.batching("ranking"))
	service := ranking.New(r.config.Ranking.Room, catalog(r, "ranking", open))
	service.Mount(rerank.New(service, r.teiLimits(r.config.Ranking.Limits, r.config.Ranking.Room.MaxPassages)))
	return service
}

func openChat(r *resources) gateway.API {
	images := vision.NewLoader(r.config.Chat.Room.Image, r.memory)
	service := chat.New(r.config.Chat.Room, images, catalog(r, "chat", chat.Opener(r.client)))
	var store openai.Store
	if r.responses != nil {
		store = r.responses
	}
	service.Mount(openai.New(service, store), stack.New(service), anthropic.New(service))
	return service
}

// entryOpeners open an entry of the model repository as the gateway does, but without a server, by API.
var entryOpeners = map[string]func(*triton.Model) error{
	"chat":      opensWith(chat.Opener(nil)),
	"embedding": opensWith(embedding.Opener(nil, batching.Options{})),
	"ranking":   opensWith(ranking.Opener(nil, batching.Options{})),
	"masked":    opensWith(masked.Opener(nil, batching.Options{})),
}

func opensWith[T any](open func(*triton.Model) (T, error)) func(*triton.Model) error {
	return func(m *triton.Model) error {
		_, err := open(m)
		return err
	}
}
