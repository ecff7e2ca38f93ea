package anthropic

import (
	"context"
	"slices"
	"strconv"
	"time"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
)

// Bounds of a page of the model list.
const (
	defaultPage = 20
	maxPage     = 1000
)

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
