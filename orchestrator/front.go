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

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/mcp"
	"retort/orchestrator/page"
)

//go:embed front.html
var frontHTML string

var frontPage = template.Must(template.New("front").Parse(frontHTML))

// front is the app of the main port: the page for people, a page of links, the process' own health and metrics, and every API under its
// name and, for OpenAI's clients, by model.
func (a *application) front() fasthttp.RequestHandler {
	app := gateway.NewApp()
	local := gateway.NewLocalRoutes(a.life, "main", wordLocal, a.options(gateway.Config{Timeout: localTimeout})).Route
	a.openAIRoutes(app, local)
	for i, s := range services {
		app.Use("/"+s.name, behind("/"+s.name, a.withJobs(s.name, a.gateways[i].Handler())))
	}
	for _, path := range []string{"/files", "/batches"} {
		app.Use([]string{openAIBase + path, path}, forward(a.batches.Handler()))
	}
	app.Use("/jobs", behind("/jobs", a.batches.Handler())) // its description
	if a.mcp != nil {
		app.All(mcp.Path, forward(a.mcp.Handler()))
	}
	page.Assets(app, local)
	app.Use("/page", behind("/page", a.page.Handler()))
	app.Get("/apis", local(a.links))
	app.Get("/v1/health/live", local(func(c *fiber.Ctx) error { return c.JSON(fiber.Map{"live": true}) }))
	app.Get("/v1/health/ready", local(a.ready))
	app.Get("/metrics", local(adaptor.HTTPHandler(promhttp.HandlerFor(a.metrics.Registry, promhttp.HandlerOpts{}))))
	app.Use(openAIBase, local(unknownURL))
	return gateway.Guard(app.Handler(), gateway.RefusePlainly)
}

// localTimeout bounds a request to the main port's own routes, none of which asks a model.
const localTimeout = 30 * time.Second

// wordLocal words a failure of these routes.
func wordLocal(f *fault.Error) (status int, body any) { return gateway.WordForOpenAI(f) }

// forward has a handler answer.
func forward(serve fasthttp.RequestHandler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		serve(c.Context())
		return nil
	}
}

// behind serves an API under a prefix, as if the prefix were not there.
func behind(prefix string, serve fasthttp.RequestHandler) fiber.Handler {
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

// ready says which APIs can serve: 200 when all can, or with ?any when at least one can; 503 otherwise.
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
	wanted := len(a.gateways)
	if c.Context().QueryArgs().Has("any") {
		wanted = 1
	}
	status := fiber.StatusOK
	if count < wanted {
		status = fiber.StatusServiceUnavailable
	}
	return c.Status(status).JSON(fiber.Map{"ready": status == fiber.StatusOK, "apis": apis})
}

// card is one API on the page of links.
type card struct {
	Name, Title, Reason string
	Ready               bool
	Port                int
	Models              []string
}

// links is a page without scripts that leads to everything.
func (a *application) links(c *fiber.Ctx) error {
	var cards []card
	for i, s := range services {
		g := a.gateways[i]
		entry := card{Name: s.name, Title: s.title, Port: s.limits(a.config).Port, Models: g.API().Models(), Ready: true}
		if err := g.Ready(); err != nil {
			entry.Ready = false
			entry.Reason = err.Error()
		}
		cards = append(cards, entry)
	}
	var html bytes.Buffer
	if err := frontPage.Execute(&html, map[string]any{"Version": version, "APIs": cards, "OpenToAll": a.openToAll()}); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(html.Bytes())
}
