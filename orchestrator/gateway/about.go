package gateway

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// licenseText is a copy of the repository's LICENSE, which no package can embed from above its own folder.
//
//go:embed license.txt
var licenseText string

// LicenseText is the licence of this program with its text.
type LicenseText struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	SHA     string `json:"sha"`  // SHA-1 of the text
	Size    int    `json:"size"` // characters of the text
	URL     string `json:"url"`
	Type    string `json:"type"` // "file"
	Content string `json:"content"`
}

func (g *Gateway) license(context.Context) (LicenseText, error) {
	sum := sha1.Sum([]byte(licenseText)) // what the published services name it by
	return LicenseText{
		Name:    "Apache-2.0",
		Path:    "LICENSE",
		SHA:     hex.EncodeToString(sum[:]),
		Size:    utf8.RuneCountInString(licenseText),
		URL:     "https://www.apache.org/licenses/LICENSE-2.0",
		Type:    "file",
		Content: licenseText,
	}, nil
}

// Manifest is what the API serves now, as a YAML text.
type Manifest struct {
	ManifestFile       string `json:"manifest_file"`
	RepositoryOverride string `json:"repository_override"` // always empty: nothing is fetched
}

func (g *Gateway) manifest(context.Context) (Manifest, error) {
	text, err := yaml.Marshal(struct {
		API     string   `yaml:"api"`
		Release string   `yaml:"release"`
		Models  []string `yaml:"models"`
	}{g.api.Name(), g.opts.Version, g.api.Models()})
	return Manifest{ManifestFile: string(text)}, err
}

// Lister is an API that has more to say of a model than its id: the entry of its list, or why there is none.
type Lister interface{ Entry(id string) (any, error) }

// retrieve answers with one model of the list. Its id may have slashes, which some clients escape.
func (g *Gateway) retrieve(c *fiber.Ctx) error {
	exchangeOf(c).named(c.Route().Path)
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

// entry is what the list has of a model.
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
