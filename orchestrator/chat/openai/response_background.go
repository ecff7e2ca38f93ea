package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
)

// startResponse stores a queued response and its request. It refuses what the request itself would be refused for.
func (s *Service) startResponse(ctx context.Context, caller string, r ResponseRequest) (Response, error) {
	if s.store == nil {
		return Response{}, chat.Refuse([]any{"background"}, "background is not supported: this service stores no responses")
	}
	history, release, err := s.history(ctx, caller, r.PreviousResponseID)
	if err != nil {
		return Response{}, err
	}
	defer release()
	answer, err := s.chat.Answer(ctx, r.conversation(r.plan(), history))
	if err != nil {
		return Response{}, err
	}
	response := r.newResponse()
	response.ID = s.newResponseID()
	response.CreatedAt = s.now().Unix()
	response.Model = answer.Model
	response.Status = queued
	response.Store = true
	releaseContent, err := s.store.Reserve(ctx, r.Input.size())
	if err != nil {
		return Response{}, err
	}
	defer releaseContent()
	request := r
	request.Background = nil
	request.Store = new(false)
	text, err := content{response, r.Input.stored()}.encode()
	if err != nil {
		return Response{}, err
	}
	body, err := encode(request)
	if err != nil {
		return Response{}, err
	}
	return response, s.store.Start(ctx, caller, response.ID, r.previous(), text, body)
}

// FinishResponse returns the stored content of a background response at its end, made from its content at the start
// and the reply to its request. status is 0 if it was cancelled.
func FinishResponse(start []byte, status int, reply []byte) ([]byte, error) {
	var c content
	if err := json.Unmarshal(start, &c); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "a stored response cannot be read")
	}
	id := c.Response.ID
	createdAt := c.Response.CreatedAt
	switch status {
	case 0:
		c.Response.Status = cancelled
	case http.StatusOK:
		if err := json.Unmarshal(reply, &c.Response); err != nil {
			return nil, fault.Wrap(fault.Internal, err, "the reply to a background response cannot be read")
		}
	default:
		var problem chat.Error
		_ = json.Unmarshal(reply, &problem) // without a message the code says enough
		c.Response.Status = failed
		c.Response.Error = &ResponseError{Code: "server_error", Message: problem.Message}
		if status < http.StatusInternalServerError {
			c.Response.Error.Code = "invalid_prompt"
		}
	}
	c.Response.ID = id
	c.Response.CreatedAt = createdAt
	c.Response.Background = true
	c.Response.Store = true
	return c.encode()
}
