package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/chat/anthropic"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/dialect"
	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/embedding/tei"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/triton"
)

// openAIBase is the base path for OpenAI's clients on the main port: one address for the models of all APIs.
const openAIBase = "/v1"

// modelCard is an entry of the main port's model list, in OpenAI's form with additions.
type modelCard struct {
	ID          string `json:"id"`
	Object      string `json:"object"`  // "model"
	Created     int64  `json:"created"` // Unix time in seconds
	OwnedBy     string `json:"owned_by"`
	API         string `json:"api"`                    // name of the API that serves the model
	MaxModelLen int    `json:"max_model_len,omitzero"` // tokens; 0 if the model's entry does not say
	Images      bool   `json:"images,omitzero"`        // the model takes images
}

// openAIRoutes adds what OpenAI's clients expect under one base address, with or without /v1: the model list of all
// APIs, and the POST endpoints of the APIs that are called by model (openAIPaths). No two of these have the same path.
// The routes must precede the APIs' prefixes, because /chat/completions is also a path below /chat. local wraps the
// handlers of routes that belong to no API.
func (a *application) openAIRoutes(app *fiber.App, local func(fiber.Handler) fiber.Handler) {
	if a.config.CORSOrigins != "" {
		app.Use(openAIBase+"/models", cors.New(cors.Config{AllowOrigins: a.config.CORSOrigins}))
	}
	for _, base := range []string{openAIBase, ""} {
		app.Get(base+"/models", a.anthropicModels, local(a.listModels))
		app.Get(base+"/models/*", a.anthropicModels, local(a.retrieveModel))
	}
	for i, s := range services {
		if !s.byModel {
			continue
		}
		serve := forOpenAI(a.gateways[i].Handler())
		for _, path := range openAIPaths(a.gateways[i]) {
			for _, spelling := range []string{path, strings.TrimPrefix(path, openAIBase)} {
				app.Post(spelling, serve)
				app.Options(spelling, serve) // preflight requests of browsers
			}
		}
		for _, path := range s.objects {
			app.Use([]string{openAIBase + path, path}, serve)
		}
	}
}

// openAIPaths lists the POST endpoints of an API that the main port also serves without the API's name. It leaves out
// those whose paths several APIs have, some in other forms.
func openAIPaths(g *gateway.Gateway) []string {
	ambiguous := []string{openai.TokenizePath, openai.DetokenizePath, teibase.DecodePath, tei.RootPath}
	return slices.DeleteFunc(g.Posts(), func(path string) bool { return slices.Contains(ambiguous, path) })
}

// unknownURL answers requests below the base address that have no route.
func unknownURL(c *fiber.Ctx) error {
	return fault.Missing(fault.Route, "Unknown request URL: %s %s.", c.Method(), fault.Clip(c.Path()))
}

// forOpenAI marks requests as those of an OpenAI client, which changes the form of errors.
func forOpenAI(serve fasthttp.RequestHandler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		gateway.SetDialect(c.Context(), dialect.OpenAI)
		serve(c.Context())
		return nil
	}
}

func (a *application) listModels(c *fiber.Ctx) error {
	if f := a.keys.Check(c); f != nil {
		return f
	}
	return c.JSON(fiber.Map{"object": "list", "data": a.modelCards()})
}

// anthropicModels lets the chat API answer requests of Anthropic's clients for its models, in their form.
func (a *application) anthropicModels(c *fiber.Ctx) error {
	if c.Get(anthropic.VersionHeader) == "" {
		return c.Next()
	}
	chat, _ := a.gateway("chat")
	chat.Handler()(c.Context())
	return nil
}

// retrieveModel answers with one model of the list. Ids contain slashes, which some clients escape.
func (a *application) retrieveModel(c *fiber.Ctx) error {
	if f := a.keys.Check(c); f != nil {
		return f
	}
	id, err := url.PathUnescape(c.Params("*"))
	if err == nil {
		for _, card := range a.modelCards() {
			if card.ID == id {
				return c.JSON(card)
			}
		}
	}
	return fault.Missing(fault.Model, "The model `%s` does not exist.", fault.Clip(id))
}

// modelCards returns the models that can be served now, in the order of the APIs.
func (a *application) modelCards() []modelCard {
	cards := []modelCard{}
	snapshot := a.registry.Snapshot()
	imageModels := a.imageModels()
	for i, s := range services {
		for _, id := range a.gateways[i].API().Models() {
			card := modelCard{ID: id, Object: "model", OwnedBy: "retort", API: s.name}
			card.Images = s.name == "chat" && slices.Contains(imageModels, id)
			card.describe(snapshot.Of(s.name))
			cards = append(cards, card)
		}
	}
	return cards
}

// describe adds what the model's entry in the repository says.
func (card *modelCard) describe(models []*triton.Model) {
	for _, m := range models {
		if m.PublicID() != card.ID {
			continue
		}
		card.OwnedBy = m.Parameter("owned_by", card.OwnedBy)
		card.Created, _ = strconv.ParseInt(m.Parameter("created", "0"), 10, 64) // valid, or the model would not be open
		card.MaxModelLen, _ = strconv.Atoi(m.Parameter("max_model_len", "0"))
		return
	}
}
