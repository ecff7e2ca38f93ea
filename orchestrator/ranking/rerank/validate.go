package rerank

import (
	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
)

// Validate checks what does not depend on the model.
func (r *Request) Validate() error {
	var problems fault.Problems
	if r.Model != nil {
		problems.Add(fault.Text(*r.Model, "model"))
	}
	problems.Add(fault.Text(r.Query, "query"))
	if r.TopN != nil {
		problems.Add(fault.AtLeast(*r.TopN, 1, "top_n"))
	}
	if r.ScoreThreshold != nil {
		problems.Add(fault.Between(*r.ScoreThreshold, 0, 1, "score_threshold"))
	}
	if r.MaxTokensPerDoc != nil {
		problems.Add(fault.AtLeast(*r.MaxTokensPerDoc, 1, "max_tokens_per_doc"))
	}
	if r.MaxDocLength != nil {
		problems.Add(fault.AtLeast(*r.MaxDocLength, 1, "max_doc_length"))
	}
	if isSet(r.ReturnEmbeddings) {
		problems.Add(fault.Field("value_error", true, []any{"return_embeddings"},
			"Value error, a ranker has no embeddings to return"))
	}
	problems.Add(r.checkCandidates())
	if r.Texts != nil {
		problems.AddEach(len(r.Texts), func(i int) *fault.Error { return fault.Text(r.Texts[i], "texts", i) })
	}
	problems.AddEach(len(r.Documents), func(i int) *fault.Error {
		return r.Documents[i].selectText(r.RankFields, "documents", i)
	})
	return problems.Err()
}

// checkCandidates checks that the body has either documents or texts.
func (r *Request) checkCandidates() *fault.Error {
	switch {
	case r.Texts == nil && r.Documents == nil:
		return fault.Field("missing", nil, []any{"documents"}, "Field required: documents, or texts")
	case r.Texts != nil && r.Documents != nil:
		return fault.Field("value_error", nil, []any{"texts"},
			"Value error, documents and texts cannot be given together")
	case r.Texts != nil:
		return fault.NotEmpty(len(r.Texts), "texts")
	}
	return fault.NotEmpty(len(r.Documents), "documents")
}

// Heavy reports whether a request may occupy a model for long: gateway.Heavy.
func (r *Request) Heavy() bool {
	rows := max(len(r.Texts), len(r.Documents))
	for i := range r.Documents {
		rows += len(r.Documents[i].text) / encoder.RowBytes
	}
	return rows > encoder.LightRows
}

func isSet(option *bool) bool { return option != nil && *option }
