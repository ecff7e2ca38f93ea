package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/triton"
)

// openAIBase is the base path of the main port for OpenAI's clients: one address for the models of all APIs.
const openAIBase = "/v1"

// modelCard is one entry of the main port's model list: OpenAI's form, the API that serves the model, how many tokens the
// model takes where its entry says so, and whether it takes images.
type modelCard struct {
	ID          string `json:"id"`
	Object      string `json:"object"`  // "model"
	Created     int64  `json:"created"` // Unix time in seconds
	OwnedBy     string `json:"owned_by"`
	API         string `json:"api"` // name of the API, which is also its prefix on the main port
	MaxModelLen int    `json:"max_model_len,omitzero"`
	Images      bool   `json:"images,omitzero"`
}

// openAIRoutes adds the endpoints that OpenAI's clients find under one base address, with /v1 at its end or without:
// the model list of all APIs, and every POST endpoint of the APIs that are called by model. No two of them have the
// same path. It comes before the APIs' prefixes, since /chat/completions is also a path below /chat. local wraps the
// handlers of routes that belong to no API.
func (a *application) openAIRoutes(app *fiber.App, local func(fiber.Handler) fiber.Handler) {
	if a.config.CORSOrigins != "" {
		app.Use(openAIBase+"/models", cors.New(cors.Config{AllowOrigins: a.config.CORSOrigins}))
	}
	for _, base := range []string{openAIBase, ""} {
		app.Get(base+"/models", local(a.listModels))
		app.Get(base+"/models/*", local(a.retrieveModel))
	}
	for i, s := range services {
		if !s.byModel {
			continue
		}
		serve := forOpenAI(a.gateways[i].Handler())
		for _, path := range a.gateways[i].Posts() {
			for _, spelling := range []string{path, strings.TrimPrefix(path, openAIBase)} {
				app.Post(spelling, serve)
				app.Options(spelling, serve) // what browsers ask before they send
			}
		}
	}
}

// unknownURL answers what has no route below the base address.
func unknownURL(c *fiber.Ctx) error {
	return fault.Missing(fault.Route, "Unknown request URL: %s %s.", c.Method(), fault.Clip(c.Path()))
}

// forOpenAI serves a request of a client of OpenAI's.
func forOpenAI(serve fasthttp.RequestHandler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		gateway.OpenAIClient(c.Context())
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

// retrieveModel answers with one model of the list. Ids have slashes, which some clients escape.
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

// modelCards are the models of all APIs that can be served now, in the order of the APIs.
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

// describe takes what the model's entry in the repository says.
func (card *modelCard) describe(models []*triton.Model) {
	for _, m := range models {
		if m.PublicID() != card.ID {
			continue
		}
		card.OwnedBy = m.Parameter("owned_by", card.OwnedBy)
		card.Created, _ = strconv.ParseInt(m.Parameter("created", "0"), 10, 64) // checked when the model was opened
		card.MaxModelLen, _ = strconv.Atoi(m.Parameter("max_model_len", "0"))
		return
	}
}
