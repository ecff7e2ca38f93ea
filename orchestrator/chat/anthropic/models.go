package anthropic

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// Bounds of a page of the model list.
const (
	defaultPage = 20
	maxPage     = 1000
)

// ifVersioned serves a request of an Anthropic client, and leaves any other to the next route.
func ifVersioned(serve fiber.Handler) fiber.Handler {
	serve = identified(serve)
	return func(c *fiber.Ctx) error {
		if c.Get(VersionHeader) == "" {
			return c.Next()
		}
		return serve(c)
	}
}

// listModels answers with a page of the model list.
func (s *Service) listModels(c *fiber.Ctx) error {
	query := pageQuery{
		limit:  utils.CopyString(c.Query("limit")),
		after:  utils.CopyString(c.Query("after_id")),
		before: utils.CopyString(c.Query("before_id")),
	}
	return get(c, func(ctx context.Context) (ModelPage, error) { return s.page(ctx, query) })
}

// retrieveModel answers with one model of the list. Its id may have slashes, which some clients escape.
func (s *Service) retrieveModel(c *fiber.Ctx) error {
	id := utils.CopyString(c.Params("+"))
	if unescaped, err := url.PathUnescape(id); err == nil {
		id = unescaped
	}
	return get(c, func(ctx context.Context) (Model, error) { return s.model(ctx, id) })
}

// get answers with the result of use, or with a failure in Anthropic's form: the path does not show the client.
func get[Res any](c *fiber.Ctx, use func(context.Context) (Res, error)) error {
	err := gateway.Get(use)(c)
	if err == nil || fault.KindOf(err) == fault.Internal {
		return err
	}
	status, body := Render(fault.As(err))
	body.(*Error).SetRequestID(c.GetRespHeader(gateway.RequestIDHeader))
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return &gateway.Refusal{Status: status, Body: text}
}

// pageQuery selects a page of the model list: at most limit models right after or before a model.
type pageQuery struct{ limit, after, before string }

func (s *Service) page(ctx context.Context, q pageQuery) (page ModelPage, err error) {
	limit := defaultPage
	if q.limit != "" {
		if limit, err = strconv.Atoi(q.limit); err != nil || limit < 1 || limit > maxPage {
			return page, chat.Refuse([]any{"limit"}, "limit must be an integer from 1 to %d", maxPage)
		}
	}
	list, err := s.chat.List(ctx)
	if err != nil {
		return page, err
	}
	cards := list.Data
	index := func(id string) int {
		return slices.IndexFunc(cards, func(card chat.ModelCard) bool { return card.ID == id })
	}
	if q.before != "" {
		cards = cards[:max(0, index(q.before))]
		page.HasMore = len(cards) > limit
		cards = cards[max(0, len(cards)-limit):]
	} else {
		cards = cards[index(q.after)+1:]
		page.HasMore = len(cards) > limit
		cards = cards[:min(limit, len(cards))]
	}
	page.Data = []Model{}
	for _, card := range cards {
		page.Data = append(page.Data, modelOf(card))
	}
	if len(cards) > 0 {
		page.FirstID = &cards[0].ID
		page.LastID = &cards[len(cards)-1].ID
	}
	return page, nil
}

func (s *Service) model(ctx context.Context, id string) (Model, error) {
	list, err := s.chat.List(ctx)
	if err != nil {
		return Model{}, err
	}
	for _, card := range list.Data {
		if card.ID == id {
			return modelOf(card), nil
		}
	}
	return Model{}, fault.Missing(fault.Model, "The model `%s` does not exist.", fault.Clip(id))
}

func modelOf(card chat.ModelCard) Model {
	return Model{
		Type:           "model",
		ID:             card.ID,
		DisplayName:    card.ID,
		CreatedAt:      time.Unix(card.Created, 0).UTC().Format(time.RFC3339),
		Lifecycle:      "active",
		MaxInputTokens: card.MaxModelLen,
	}
}
