package gateway

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"retort/orchestrator/fault"
)

// serviceRoutes adds what every API answers: readiness, liveness, metadata, version, licence, manifest, single models
// and metrics.
func (g *Gateway) serviceRoutes(r fiber.Router) {
	ready, live := g.api.Health()
	ready = withCommonMembers(ready, "ready")
	live = withCommonMembers(live, "live")
	r.Get("/v1/health/ready", Get(func(context.Context) (any, error) { return ready, g.Ready() }))
	r.Get("/v1/health/live", Get(func(context.Context) (any, error) { return live, nil }))
	r.Get("/v1/metadata", Get(g.metadata))
	r.Get("/v1/version", Get(g.version))
	r.Get("/v1/license", Get(g.license))
	r.Get("/v1/manifest", Get(g.manifest))
	r.Get("/v1/models/+", g.retrieveModel)
	metrics := adaptor.HTTPHandler(promhttp.HandlerFor(g.opts.Metrics.Registry, promhttp.HandlerOpts{}))
	r.Get("/metrics", metrics)
	r.Get("/v1/metrics", metrics)
}

// withCommonMembers adds to the documented body of a health endpoint the members of the body that NVIDIA's services of
// 2026 share, {"object": "health.response", "message": "ready", "ready": true}. Those that are there keep their values,
// and a body that is no object, or an empty one, stays as it is.
func withCommonMembers(body any, state string) any {
	text, err := json.Marshal(body)
	members := map[string]any{}
	if err != nil || json.Unmarshal(text, &members) != nil || len(members) == 0 {
		return body
	}
	for name, value := range map[string]any{"object": "health.response", "message": state, state: true} {
		if _, ok := members[name]; !ok {
			members[name] = value
		}
	}
	return members
}

// Ready returns nil if the API can serve and the process is not about to stop.
func (g *Gateway) Ready() error {
	if g.draining() {
		return fault.New(fault.Unavailable, "Service is shutting down.")
	}
	return g.api.Ready()
}

// metadata is the answer of /v1/metadata.
type metadata struct {
	Version     string      `json:"version"`
	AssetInfo   []string    `json:"assetInfo"`
	LicenseInfo license     `json:"licenseInfo"`
	ModelInfo   []modelInfo `json:"modelInfo"`
}

// license is the licence of this program. The licences of models are on their cards.
type license struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// modelInfo names a model.
type modelInfo struct {
	ShortName string `json:"shortName"`
	ModelURL  string `json:"modelUrl"`
}

func (g *Gateway) metadata(context.Context) (metadata, error) {
	m := metadata{
		Version:     g.opts.Version,
		AssetInfo:   []string{},
		LicenseInfo: license{Name: "Apache-2.0", Path: "LICENSE"},
		ModelInfo:   []modelInfo{},
	}
	for _, id := range g.api.Models() {
		m.ModelInfo = append(m.ModelInfo, modelInfo{ShortName: path.Base(id), ModelURL: id})
	}
	return m, nil
}

// version is the answer of /v1/version. The APIs have the version of the program.
type version struct {
	Release string `json:"release"`
	API     string `json:"api"`
}

func (g *Gateway) version(context.Context) (version, error) {
	return version{Release: g.opts.Version, API: g.opts.Version}, nil
}

// licenseText is a copy of the repository's LICENSE, which no package can embed from above its own folder.
//
//go:embed license.txt
var licenseText string

// licenseFile is the licence of this program with its full text.
type licenseFile struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	SHA     string `json:"sha"`  // SHA-1 of the text
	Size    int    `json:"size"` // characters of the text
	URL     string `json:"url"`
	Type    string `json:"type"` // "file"
	Content string `json:"content"`
}

func (g *Gateway) license(context.Context) (licenseFile, error) {
	sum := sha1.Sum([]byte(licenseText)) // as in the published services
	return licenseFile{
		Name:    "Apache-2.0",
		Path:    "LICENSE",
		SHA:     hex.EncodeToString(sum[:]),
		Size:    utf8.RuneCountInString(licenseText),
		URL:     "https://www.apache.org/licenses/LICENSE-2.0",
		Type:    "file",
		Content: licenseText,
	}, nil
}

// manifest describes what the API serves now, as YAML.
type manifest struct {
	ManifestFile       string `json:"manifest_file"`
	RepositoryOverride string `json:"repository_override"` // always empty
}

func (g *Gateway) manifest(context.Context) (manifest, error) {
	text, err := yaml.Marshal(struct {
		API     string   `yaml:"api"`
		Release string   `yaml:"release"`
		Models  []string `yaml:"models"`
	}{g.api.Name(), g.opts.Version, g.api.Models()})
	return manifest{ManifestFile: string(text)}, err
}

// Lister is an API that defines the entries of its model list. Entry returns the entry of a model, or a fault.
type Lister interface{ Entry(id string) (any, error) }

// retrieveModel answers with one model of the list. Its id may have slashes, which some clients escape.
func (g *Gateway) retrieveModel(c *fiber.Ctx) error {
	exchangeOf(c).setRoute(c)
	if err := g.api.Ready(); err != nil {
		return err
	}
	id, err := url.PathUnescape(c.Params("+"))
	if err != nil {
		return noModel(id)
	}
	entry, err := g.entry(id)
	if err != nil {
		return err
	}
	return send(c, entry)
}

// entry returns the entry of a model in the list.
func (g *Gateway) entry(id string) (any, error) {
	if api, ok := g.api.(Lister); ok {
		return api.Entry(id)
	}
	if !slices.Contains(g.api.Models(), id) {
		return nil, noModel(id)
	}
	return map[string]string{"id": id, "object": "model"}, nil
}

func noModel(id string) *fault.Error {
	return fault.Missing(fault.Model, "The model `%s` does not exist.", fault.Clip(id))
}
