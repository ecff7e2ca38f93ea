package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/dialect"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/mcp"
	"retort/orchestrator/page"
)

//go:embed links.html
var linksHTML string

var linksPage = template.Must(template.New("links").Parse(linksHTML))

// localTimeout bounds a request to a route of the main port that belongs to no API. No such route calls a model.
const localTimeout = 30 * time.Second

// mainHandler serves the main port: the web page, a page of links, the health and metrics of the process, every API
// under its name and, for OpenAI's clients, the APIs that are called by model.
func (a *application) mainHandler() (fasthttp.RequestHandler, error) {
	app := gateway.NewApp()
	localOptions := a.options(gateway.Config{Timeout: localTimeout})
	local := gateway.NewLocalRoutes(a.ctx, "main", dialect.OpenAI.Render, localOptions).Route
	a.openAIRoutes(app, local)
	if err := a.agentRoutes(app, local); err != nil {
		return nil, err
	}
	for i, s := range services {
		app.Use("/"+s.name, stripPrefix("/"+s.name, a.withJobs(s.name, a.gateways[i].Handler())))
	}
	for _, path := range []string{"/files", "/batches"} {
		app.Use([]string{openAIBase + path, path}, forward(a.batches.Handler()))
	}
	app.Use("/jobs", stripPrefix("/jobs", a.batches.Handler())) // its documentation
	if a.mcp != nil {
		app.All(mcp.Path, forward(a.mcp.Handler()))
	}
	page.Assets(app, local)
	app.Use("/page", stripPrefix("/page", a.page.Handler()))
	app.Get("/apis", local(a.links))
	app.Get("/v1/health/live", local(func(c *fiber.Ctx) error { return c.JSON(fiber.Map{"live": true}) }))
	app.Get("/v1/health/ready", local(a.ready))
	metrics := promhttp.HandlerFor(a.metrics.Registry, promhttp.HandlerOpts{})
	app.Get("/metrics", local(adaptor.HTTPHandler(metrics)))
	app.Use(openAIBase, local(unknownURL))
	return httpserver.Guard(app.Handler(), gateway.RefusePlainly), nil
}

func forward(serve fasthttp.RequestHandler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		serve(c.Context())
		return nil
	}
}

// stripPrefix serves requests under a prefix as if the prefix were not there.
func stripPrefix(prefix string, serve fasthttp.RequestHandler) fiber.Handler {
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

// ready reports which APIs can serve. The status is 200 if all can or, with ?any, if at least one can; otherwise 503.
func (a *application) ready(c *fiber.Ctx) error {
	count := 0
	apis := fiber.Map{}
	for _, g := range a.gateways {
		err := g.Ready()
		apis[g.API().Name()] = err == nil
		if err == nil {
			count++
		}
	}
	required := len(a.gateways)
	if c.Context().QueryArgs().Has("any") {
		required = 1
	}
	status := fiber.StatusOK
	if count < required {
		status = fiber.StatusServiceUnavailable
	}
	return c.Status(status).JSON(fiber.Map{"ready": status == fiber.StatusOK, "apis": apis})
}

// links answers with a page of links to everything, for browsers without JavaScript.
func (a *application) links(c *fiber.Ctx) error {
	var html bytes.Buffer
	if err := linksPage.Execute(&html, a.overview()); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(html.Bytes())
}
