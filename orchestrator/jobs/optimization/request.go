package optimization

import (
	"encoding/json"

	"retort/orchestrator/wire"
)

// event is what an event of either API's stream may say.
type event struct {
	// Of the latent API.
	Seed        int `json:"seed"`
	Iteration   int `json:"iteration"`
	Evaluations int `json:"evaluations"`
	// Of the masked API.
	Status string `json:"status"`
	Round  int    `json:"round"`
	// Of both.
	Best  json.RawMessage `json:"best"`
	Found []struct {
		SMILES string `json:"smiles"`
	} `json:"found"`
	// Of the last event.
	Generated  json.RawMessage `json:"generated"`
	Molecules  json.RawMessage `json:"molecules"`
	Unfinished *struct {
		Reason string `json:"reason"`
	} `json:"unfinished"`
}

// isAnswer reports whether an event is the answer of the API, the end of a stream that succeeded.
func (e *event) isAnswer(api string) bool {
	if api == masked {
		return e.Status == "success"
	}
	return e.Generated != nil
}

// The APIs.
const (
	latent = "latent"
	masked = "masked"
)

// asked are the members of a body that say how much there is to do.
type asked struct {
	Smi        json.RawMessage `json:"smi"`
	Algorithm  string          `json:"algorithm"`
	Shared     bool            `json:"shared"`
	Iterations int             `json:"iterations"`
	Rounds     wire.Int        `json:"rounds"`
}

// searches are those that a body asks for, of which nothing is done yet. The body has been checked by the API.
func searches(api string, body []byte) []search {
	a := asked{Iterations: 10}
	_ = json.Unmarshal(body, &a)
	if api == masked {
		return []search{{Iterations: int(a.Rounds)}}
	}
	var list []string
	_ = json.Unmarshal(a.Smi, &list)
	all := make([]search, 1)
	if len(list) > 0 && !a.Shared {
		all = make([]search, len(list))
	}
	if a.Algorithm == "none" {
		a.Iterations = 0 // it has rounds, as many as it takes
	}
	for i := range all {
		all[i].Iterations = a.Iterations
	}
	return all
}

// attempt is the body of the next request: that of the job, as a stream, with what is left to do.
func (r *record) attempt(body []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	set := func(name string, value any) {
		members[name], _ = json.Marshal(value) // texts and numbers
	}
	set("stream", true)
	set("checkpoints", true)
	left := 0
	begun := false
	starts := make([][]string, len(r.Searches))
	for i, s := range r.Searches {
		left = max(left, s.Iterations-s.Before)
		starts[i] = append([]string{}, s.Found...)
		begun = begun || len(s.Found) > 0
	}
	switch {
	case !begun:
	case r.API == masked:
		set("smi", starts[0])
		set("rounds", max(1, left))
	default:
		set("starts", starts)
		set("iterations", max(1, left))
	}
	return json.Marshal(members)
}
