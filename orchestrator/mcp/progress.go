package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FollowAPI sends a request to an API through its gateway, as [CallAPI] does, and calls onEvent with the data of each
// event of the answer. It returns the answer, which is the data of the last event.
type FollowAPI func(ctx context.Context, api, path string, body []byte, onEvent func(data []byte) error) (
	status int, answer []byte, err error)

// searchEvent has the fields of an event of either molecule API's stream that say how far the search is.
type searchEvent struct {
	// Of the latent API.
	Seed        int `json:"seed"`
	Iteration   int `json:"iteration"`
	Evaluations int `json:"evaluations"`
	// Of the masked API.
	Status    string          `json:"status"`
	Round     int             `json:"round"`
	Rounds    int             `json:"rounds"`
	Generated json.RawMessage `json:"generated"` // a number; in the latent API's answer, molecules
	Requested int             `json:"requested"`
	Valid     int             `json:"valid"`
}

// searchProgress sums up the events of a search.
type searchProgress struct {
	iterations map[int]int // done, by seed
	reported   float64     // the last progress
}

// add returns the progress after an event, with its total, 0 if unknown. ok is false if there is none to report: each
// progress must be larger than the one before.
func (p *searchProgress) add(data []byte, total float64) (params mcp.ProgressNotificationParams, ok bool) {
	var e searchEvent
	if json.Unmarshal(data, &e) != nil {
		return params, false
	}
	switch {
	case e.Status == "running" && e.Requested > 0:
		var rows float64
		if json.Unmarshal(e.Generated, &rows) != nil {
			return params, false
		}
		params.Progress = float64(e.Round) + rows/float64(e.Requested)
		params.Total = float64(e.Rounds + 1)
		params.Message = fmt.Sprintf("round %d of %d, %d molecules", e.Round, e.Rounds, e.Valid)
	case e.Iteration > 0:
		p.iterations[e.Seed] = max(p.iterations[e.Seed], e.Iteration)
		for _, done := range p.iterations {
			params.Progress += float64(done)
		}
		params.Total = total
		params.Message = fmt.Sprintf("seed %d, iteration %d, %d molecules evaluated", e.Seed, e.Iteration, e.Evaluations)
	}
	ok = params.Progress > p.reported
	p.reported = max(p.reported, params.Progress)
	return params, ok
}

// totalIterations returns the iterations of all seeds of a search in the latent space, or 0 if their number is not
// fixed. standard is the number of iterations if the arguments do not give one.
func totalIterations(arguments []byte, standard float64) float64 {
	request := struct {
		Smi        json.RawMessage `json:"smi"`
		Algorithm  string          `json:"algorithm"`
		Shared     bool            `json:"shared"`
		Iterations float64         `json:"iterations"`
	}{Iterations: standard}
	if json.Unmarshal(arguments, &request) != nil || request.Algorithm == "none" {
		return 0
	}
	var seeds []string
	if json.Unmarshal(request.Smi, &seeds) != nil || request.Shared {
		return request.Iterations // one seed
	}
	return request.Iterations * float64(len(seeds))
}

// followSearch answers a search like forward, and sends its progress to the client. request is the context of the HTTP
// request, with which the search ends; call is the library's, by which it finds the client's stream.
func (s *Service) followSearch(
	request, call context.Context, session *mcp.ServerSession, search *search, arguments []byte, token any,
) *mcp.CallToolResult {
	arguments, refused := checkArguments(arguments, search.omit)
	if refused != nil {
		return refused
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return refusal("the arguments are not an object: %v", err)
	}
	members["stream"] = json.RawMessage("true")
	body, err := json.Marshal(members)
	if err != nil {
		return refusal("%v", err)
	}
	progress := searchProgress{iterations: map[int]int{}}
	total := totalIterations(arguments, search.iterations)
	status, answer, err := s.followAPI(request, search.api, search.path, body, func(data []byte) error {
		if params, ok := progress.add(data, total); ok {
			params.ProgressToken = token
			return session.NotifyProgress(call, &params)
		}
		return nil
	})
	if err != nil {
		return refusal("the search ended early: %v", err)
	}
	if status != http.StatusOK || !isSearchAnswer(answer) {
		return refusal("%s", strings.TrimSpace(string(answer)))
	}
	return result(answer)
}

// isSearchAnswer reports whether the last event of a stream is an answer, not a failure of either molecule API.
func isSearchAnswer(event []byte) bool {
	var last struct {
		Status string          `json:"status"`
		Detail json.RawMessage `json:"detail"`
	}
	return json.Unmarshal(event, &last) == nil && last.Status != "failed" && last.Detail == nil
}
