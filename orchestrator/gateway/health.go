package gateway

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"retort/orchestrator/fault"
)

// health adds what every API answers: readiness, liveness, its models one by one, metadata, version, licence, manifest
// and metrics.
func (g *Gateway) health(r fiber.Router) {
	ready, live := g.api.Health()
	r.Get("/v1/health/ready", Get(func(context.Context) (any, error) { return ready, g.Ready() }))
	r.Get("/v1/health/live", Get(func(context.Context) (any, error) { return live, nil }))
	r.Get("/v1/metadata", Get(g.metadata))
	r.Get("/v1/version", Get(g.version))
	r.Get("/v1/license", Get(g.license))
	r.Get("/v1/manifest", Get(g.manifest))
	r.Get("/v1/models/+", g.retrieve)
	metrics := adaptor.HTTPHandler(promhttp.HandlerFor(g.opts.Metrics.Registry, promhttp.HandlerOpts{}))
	r.Get("/metrics", metrics)
	r.Get("/v1/metrics", metrics)
}

// Ready returns nil when the API can serve and is not about to stop.
func (g *Gateway) Ready() error {
	if g.draining() {
		return fault.New(fault.Unavailable, "Service is shutting down.")
	}
	return g.api.Ready()
}

// Metadata describes the service and its models.
type Metadata struct {
	Version     string      `json:"version"`
	AssetInfo   []string    `json:"assetInfo"`
	LicenseInfo License     `json:"licenseInfo"`
	ModelInfo   []ModelInfo `json:"modelInfo"`
}

// License is the licence of this program; the models' own are on their cards.
type License struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// ModelInfo names one model.
type ModelInfo struct {
	ShortName string `json:"shortName"`
	ModelURL  string `json:"modelUrl"`
}

func (g *Gateway) metadata(context.Context) (Metadata, error) {
	m := Metadata{
		Version:     g.opts.Version,
		AssetInfo:   []string{},
		LicenseInfo: License{Name: "Apache-2.0", Path: "LICENSE"},
		ModelInfo:   []ModelInfo{},
	}
	for _, id := range g.api.Models() {
		m.ModelInfo = append(m.ModelInfo, ModelInfo{ShortName: id[strings.LastIndexByte(id, '/')+1:], ModelURL: id})
	}
	return m, nil
}

// Version is the program's release, which is the version of its APIs too.
type Version struct {
	Release string `json:"release"`
	API     string `json:"api"`
}

func (g *Gateway) version(context.Context) (Version, error) {
	return Version{Release: g.opts.Version, API: g.opts.Version}, nil
}
