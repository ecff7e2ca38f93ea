package rerank

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"retort/orchestrator/calibration"
	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/ranking"
)

// Service answers the endpoints with the models of the ranking API.
type Service struct {
	ranking *ranking.Service
	base    *teibase.Service
}

// New returns the endpoints over a ranking service.
func New(service *ranking.Service, limits teibase.Limits) *Service {
	s := &Service{ranking: service}
	s.base = teibase.New(s, limits)
	return s
}

// Ready returns nil if at least one model is served.
func (s *Service) Ready() error { return s.ranking.Ready() }

// TEIModel returns the model of a public id, or the first. Rankers have no prompts.
func (s *Service) TEIModel(id *string, _ bool) (teibase.Model, error) {
	model, err := s.ranking.Find(id)
	if err != nil {
		return teibase.Model{}, err
	}
	return teibase.Model{
		ID:      model.ID(),
		Encoder: model.Encoder(),
		Type: map[string]any{"reranker": map[string]any{
			"id2label": map[string]string{"0": label},
			"label2id": map[string]int{label: 0},
		}},
		Prompts: map[string]string{"": ""},
	}, nil
}

// Rerank sorts the candidates of a request by logit, and leaves out those below its threshold. It returns a Response
// for documents and Scored ranks for texts.
func (s *Service) Rerank(ctx context.Context, r Request) (any, error) {
	scores, err := s.ranking.Score(ctx, r.Model, r.pairs())
	if err != nil {
		return nil, err
	}
	ranks := r.best(scores)
	if r.Texts != nil {
		return Scored{r.ranks(ranks, scores.Calibration), scores.Read}, nil
	}
	return r.response(ranks, scores), nil
}

// pairs returns the input of the model. Long documents are read in chunks, long texts are cut.
func (r *Request) pairs() ranking.Pairs {
	if r.Texts != nil {
		p := ranking.Pairs{
			Query:    r.Query,
			Passages: r.Texts,
			Long:     ranking.Cut,
			Path:     func(i int) []any { return []any{"texts", i} },
		}
		if r.Truncate != nil && !*r.Truncate {
			p.Long = ranking.Refuse
		}
		return p
	}
	p := ranking.Documents(r.Query, make([]string, len(r.Documents)))
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

// best returns the candidates of the answer, best first: at most TopN, none with a score below ScoreThreshold. The
// score rises with the logit, so those left out are the last ones.
func (r *Request) best(scores ranking.Scores) []ranking.Rank {
	ranks := ranking.Order(scores.Logits)
	if r.TopN != nil {
		ranks = ranks[:min(len(ranks), *r.TopN)]
	}
	if r.ScoreThreshold != nil {
		below := func(rank ranking.Rank) bool { return scores.Calibration.Score(rank.Logit) < *r.ScoreThreshold }
		if i := slices.IndexFunc(ranks, below); i >= 0 {
			ranks = ranks[:i]
		}
	}
	return ranks
}

// warnings says what was not read.
func (r *Request) warnings(read ranking.Reading) (warnings []string) {
	if read.QueryCut {
		warnings = append(warnings, "query: only its start was read, up to half of the model's context length")
	}
	if read.PassagesCut > 0 {
		warnings = append(warnings, fmt.Sprintf("documents: of %d, only the first max_tokens_per_doc tokens were read", read.PassagesCut))
	}
	return warnings
}

func (r *Request) response(ranks []ranking.Rank, scores ranking.Scores) Response {
	read := scores.Read
	answer := Response{
		ID:     rand.Text(),
		Object: "list",
		Model:  scores.Model,
		Meta: Meta{
			APIVersion:  APIVersion{Version: "2"},
			BilledUnits: BilledUnits{SearchUnits: (read.Rows + 99) / 100},
			Tokens:      Tokens{InputTokens: read.Tokens},
			Warnings:    r.warnings(read),
		},
		Usage: Usage{PromptTokens: read.Tokens, TotalTokens: read.Tokens},
	}
	for _, rank := range ranks {
		result := Result{Index: rank.Index, RelevanceScore: scores.Calibration.Score(rank.Logit)}
		if isSet(r.ReturnDocuments) {
			result.Document = r.Documents[rank.Index].echo()
		}
		answer.Results = append(answer.Results, result)
	}
	return answer
}

func (r *Request) ranks(ranks []ranking.Rank, scale calibration.Beta) []Rank {
	answer := make([]Rank, len(ranks))
	for i := range answer {
		answer[i] = Rank{Index: ranks[i].Index, Score: scale.Score(ranks[i].Logit)}
		if isSet(r.RawScores) {
			answer[i].Score = float64(ranks[i].Logit)
		}
		if isSet(r.ReturnText) {
			answer[i].Text = &r.Texts[ranks[i].Index]
		}
	}
	return answer
}
