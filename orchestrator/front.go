package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"retort/orchestrator/gateway"
)

//go:embed front.html
var frontHTML string

var frontPage = template.Must(template.New("front").Parse(frontHTML))

// front is the app of the main port: the page for people, the process' own
// health and metrics, and every API under its name.
func (h *house) front() *fiber.App {
	largest := 0
	for _, s := range services {
		largest = max(largest, s.limits(h.config).BodyLimit)
	}
	app := gateway.NewApp(largest)
	for i, s := range services {
		app.Use("/"+s.name, behind("/"+s.name, h.gateways[i].App()))
	}
	app.Get("/", h.page)
	app.Get("/v1/health/live", func(c *fiber.Ctx) error { return c.JSON(fiber.Map{"live": true}) })
	app.Get("/v1/health/ready", h.ready)
	app.Get("/metrics", adaptor.HTTPHandler(promhttp.HandlerFor(h.metrics.Registry, promhttp.HandlerOpts{})))
	return app
}

// behind serves app under a prefix, as if the prefix were not there.
func behind(prefix string, app *fiber.App) fiber.Handler {
	serve := app.Handler()
	return func(c *fiber.Ctx) error {
		uri := string(c.Request().RequestURI())
		rest, found := strings.CutPrefix(uri, prefix)
		if !found || rest != "" && rest[0] != '/' && rest[0] != '?' {
			return fiber.ErrNotFound
		}
		if rest == "" || rest[0] == '?' { // relative links need the slash
			return c.Redirect(prefix + "/" + rest)
		}
		c.Request().SetRequestURI(rest)
		serve(c.Context())
		return nil
	}
}

// ready says which APIs can serve: 200 when all can, 503 otherwise.
func (h *house) ready(c *fiber.Ctx) error {
	status, apis := fiber.StatusOK, fiber.Map{}
	for _, g := range h.gateways {
		err := g.Ready()
		apis[g.API().Name()] = err == nil
		if err != nil {
			status = fiber.StatusServiceUnavailable
		}
	}
	return c.Status(status).JSON(fiber.Map{"ready": status == fiber.StatusOK, "apis": apis})
}

// card is one API on the page for people.
type card struct {
	Name, Title, Reason string
	Ready               bool
	Port                int
	Models              []string
}

func (h *house) page(c *fiber.Ctx) error {
	var cards []card
	for i, s := range services {
		g := h.gateways[i]
		entry := card{Name: s.name, Title: s.title, Port: s.limits(h.config).Port, Models: g.API().Models(), Ready: true}
		if err := g.Ready(); err != nil {
			entry.Ready, entry.Reason = false, err.Error()
		}
		cards = append(cards, entry)
	}
	var html bytes.Buffer
	if err := frontPage.Execute(&html, map[string]any{"Version": version, "APIs": cards}); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(html.Bytes())
}
