package optimization

import (
	"encoding/json"
	"slices"

	"retort/orchestrator/wire"
)

// The APIs.
const (
	latent = "latent"
	masked = "masked"
)

// event has the fields of an event of either API's stream that report progress or the end of the attempt.
type event struct {
	// Of the latent API.
	Seed        int             `json:"seed"`
	Iteration   int             `json:"iteration"`
	Evaluations int             `json:"evaluations"`
	Generated   json.RawMessage `json:"generated"` // in the last event
	// Of the masked API.
	Status string `json:"status"`
	Round  int    `json:"round"`
	// Of both.
	Best  json.RawMessage `json:"best"`
	Found []struct {
		SMILES string `json:"smiles"`
	} `json:"found"`
	Unfinished *struct {
		Reason string `json:"reason"`
	} `json:"unfinished"` // in the last event
}

// isAnswer reports whether an event is the API's answer, the last event of a stream that succeeds.
func (e *event) isAnswer(api string) bool {
	if api == masked {
		return e.Status == "success"
	}
	return e.Generated != nil
}

// newSearches returns the searches that a body requests. The API must have accepted the body.
func newSearches(api string, body []byte) []search {
	request := struct {
		Smi        json.RawMessage `json:"smi"`
		Algorithm  string          `json:"algorithm"`
		Shared     bool            `json:"shared"`
		Iterations int             `json:"iterations"`
		Rounds     wire.Int        `json:"rounds"`
	}{Iterations: 10}
	_ = json.Unmarshal(body, &request)
	if api == masked {
		return []search{{Iterations: int(request.Rounds)}}
	}
	var seeds []string
	_ = json.Unmarshal(request.Smi, &seeds) // or a single text
	count := 1
	if len(seeds) > 0 && !request.Shared {
		count = len(seeds)
	}
	searches := make([]search, count)
	for i := range searches {
		if request.Algorithm != "none" { // which has no fixed number of rounds
			searches[i].Iterations = request.Iterations
		}
	}
	return searches
}

// hasSeed reports whether a body has the member seed.
func hasSeed(body []byte) bool {
	var request struct {
		Seed json.RawMessage `json:"seed"`
	}
	_ = json.Unmarshal(body, &request)
	return request.Seed != nil && string(request.Seed) != "null"
}

// usesTold reports whether a body has the term told.
func usesTold(body []byte) bool {
	var request struct {
		Objective    any `json:"objective"`
		PropertyName any `json:"property_name"`
		Filters      any `json:"filters"`
	}
	_ = json.Unmarshal(body, &request)
	return isTold(request.Objective) || isTold(request.PropertyName) || isTold(request.Filters)
}

// isTold reports whether a term, a group or a list has the term told.
func isTold(term any) bool {
	switch t := term.(type) {
	case string:
		return t == toldTerm
	case []any:
		return slices.ContainsFunc(t, isTold)
	case map[string]any:
		return t["name"] == toldTerm || isTold(t["terms"])
	}
	return false
}

// attemptBody returns the body of the next attempt: the job's, as a stream, with warm starts and the remaining
// iterations. A seeded job has warm starts only for the last attempt after it was cancelled.
func (r *record) attemptBody(body []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	set := func(name string, value any) {
		members[name], _ = json.Marshal(value) // texts and numbers
	}
	set("stream", true)
	set("checkpoints", true)
	remaining := 0
	hasWarmStarts := false
	starts := make([][]string, len(r.Searches))
	for i, s := range r.Searches {
		remaining = max(remaining, s.Iterations-s.Before)
		starts[i] = append([]string{}, s.WarmStarts...)
		hasWarmStarts = hasWarmStarts || len(s.WarmStarts) > 0
	}
	hasWarmStarts = hasWarmStarts && (!r.Seeded || r.Status == Cancelling && !r.Told)
	if r.Seed != 0 {
		set("seed", r.Seed)
	}
	switch {
	case !hasWarmStarts:
	case r.API == masked:
		set("smi", starts[0])
		set("rounds", max(1, remaining))
	default:
		set("starts", starts)
		set("iterations", max(1, remaining))
	}
	return json.Marshal(members)
}
