package main

import (
	"context"
	"net/http"
	"time"

	"retort/orchestrator/chat/openai"
	"retort/orchestrator/gateway"
)

// backgroundTimeout bounds the request of a background response.
const backgroundTimeout = time.Hour

// openResponses starts the storage of responses with the other jobs, unless no response is stored.
func (a *application) openResponses() error {
	if a.responses == nil {
		return nil
	}
	a.responses.Connect(a.sendResponse, openai.FinishResponse)
	a.jobs.kinds = append(a.jobs.kinds, a.responses)
	return nil
}

// sendResponse sends the request of a background response to the chat API.
func (a *application) sendResponse(ctx context.Context, caller string, body []byte) (status int, reply []byte) {
	release, err := a.gate.Acquire(ctx)
	if err != nil {
		return http.StatusServiceUnavailable, nil
	}
	defer release()
	g, _ := a.gateway("chat")
	result := g.Call(ctx, gateway.Call{
		Path: "/v1/responses", Body: body, Caller: caller, Background: true, Timeout: backgroundTimeout,
	})
	return result.Status, result.Body
}
