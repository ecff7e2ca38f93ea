package rerank

import (
	"context"
	"crypto/rand"
	"math"

	"retort/orchestrator/ranking"
)

// Service answers the endpoints with the models of the ranking API.
type Service struct{ ranking *ranking.Service }

// New returns the endpoints over a ranking service.
func New(service *ranking.Service) *Service { return &Service{ranking: service} }

// Rerank sorts the candidates of a request by logit. It returns a Response for documents and a []Rank for texts.
func (s *Service) Rerank(ctx context.Context, r Request) (any, error) {
	scores, err := s.ranking.Score(ctx, r.Model, r.pairs())
	if err != nil {
		return nil, err
	}
	ranks := ranking.Order(scores.Logits)
	if r.Texts != nil {
		return r.ranks(ranks), nil
	}
	return r.response(ranks, scores), nil
}

// pairs returns the input of the model. Documents are always truncated.
func (r *Request) pairs() ranking.Pairs {
	if r.Texts != nil {
		return ranking.Pairs{
			Query:    r.Query,
			Passages: r.Texts,
			Truncate: r.Truncate == nil || *r.Truncate,
			Path:     func(i int) []any { return []any{"texts", i} },
		}
	}
	p := ranking.Pairs{
		Query:    r.Query,
		Passages: make([]string, len(r.Documents)),
		Truncate: true,
		Path:     func(i int) []any { return []any{"documents", i} },
	}
	for _, bound := range []*int{r.MaxTokensPerDoc, r.MaxDocLength} {
		if bound != nil {
			p.PassageTokens = *bound
		}
	}
	for i := range r.Documents {
		p.Passages[i] = r.Documents[i].text
	}
	return p
}

// resultCount returns the number of candidates to return, of n.
func (r *Request) resultCount(n int) int {
	if r.TopN != nil {
		return min(n, *r.TopN)
	}
	return n
}

func (r *Request) response(ranks []ranking.Rank, scores ranking.Scores) Response {
	answer := Response{
		ID:     rand.Text(),
		Object: "list",
		Model:  scores.Model,
		Meta: Meta{
			APIVersion:  APIVersion{Version: "2"},
			BilledUnits: BilledUnits{SearchUnits: (len(ranks) + 99) / 100},
			Tokens:      Tokens{InputTokens: scores.Tokens},
		},
		Usage: Usage{PromptTokens: scores.Tokens, TotalTokens: scores.Tokens},
	}
	for _, rank := range ranks[:r.resultCount(len(ranks))] {
		result := Result{Index: rank.Index, RelevanceScore: relevance(rank.Logit)}
		if isSet(r.ReturnDocuments) {
			result.Document = r.Documents[rank.Index].echo()
		}
		answer.Results = append(answer.Results, result)
	}
	return answer
}

func (r *Request) ranks(ranks []ranking.Rank) []Rank {
	answer := make([]Rank, r.resultCount(len(ranks)))
	for i := range answer {
		answer[i] = Rank{Index: ranks[i].Index, Score: relevance(ranks[i].Logit)}
		if isSet(r.RawScores) {
			answer[i].Score = float64(ranks[i].Logit)
		}
		if isSet(r.ReturnText) {
			answer[i].Text = &r.Texts[ranks[i].Index]
		}
	}
	return answer
}

// relevance returns the relevance score of a logit.
func relevance(logit float32) float64 { return 1 / (1 + math.Exp(-float64(logit))) }
