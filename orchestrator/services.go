package main

import (
	"retort/orchestrator/embedding"
	"retort/orchestrator/gateway"
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
	{"embedding", "Text embedding", func(c *Config) gateway.Config { return c.Embedding.API.Config }, (*house).embedding},
}

func (h *house) embedding() gateway.API {
	return embedding.New(h.config.Embedding.Room, catalog(h, "embedding", embedding.Open))
}
