package anthropic

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

const (
	messagesPath = "/v1/messages"
	countPath    = "/v1/messages/count_tokens"
)

// VersionHeader is the header by which requests of Anthropic's clients for the model list are recognized.
const VersionHeader = "anthropic-version"

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	messages := bind.AtMost("messages", s.chat.MaxMessages())
	r.Post(messagesPath, identified(gateway.JSONOrStream(Request.Streams, s.Create, s.stream, messages)))
	r.Post(countPath, identified(gateway.JSON(s.CountTokens, messages)))
	r.Get("/v1/models", ifVersioned(s.listModels))
	r.Get("/v1/models/+", ifVersioned(s.retrieveModel))
}

// identified adds the header with the id of the request that Anthropic's clients read.
func identified(serve fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(gateway.ShortRequestIDHeader, c.GetRespHeader(gateway.RequestIDHeader))
		return serve(c)
	}
}

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

// stream answers with named server-sent events. A stream that fails ends with the event error.
func (s *Service) stream(ctx context.Context, r Request, events *gateway.Events) error {
	if err := s.newMessageWriter(r, events.SendNamed).run(ctx); err != nil {
		return &gateway.StreamError{Err: err, Events: func(f *fault.Error) []any {
			_, body := Render(f)
			return []any{gateway.NamedEvent{Name: "error", Data: body}}
		}}
	}
	return nil
}

// Renderer returns the renderer of failures at or below messagesPath, where clients look for endpoints that do not
// exist here, too; nil for any other path.
func (s *Service) Renderer(path string) gateway.RenderFunc {
	path = strings.ToLower(path) // as the router compares paths
	if path != messagesPath && !strings.HasPrefix(path, messagesPath+"/") {
		return nil
	}
	return Render
}

// errorTypes are Anthropic's names of errors (https://platform.claude.com/docs/en/api/errors).
var errorTypes = map[fault.Kind]string{
	fault.Invalid:      "invalid_request_error",
	fault.TooLarge:     "request_too_large",
	fault.NotFound:     "not_found_error",
	fault.Method:       "invalid_request_error",
	fault.Unauthorized: "authentication_error",
	fault.TooMany:      "rate_limit_error",
	fault.Overloaded:   "overloaded_error",
	fault.Timeout:      "timeout_error",
}

// statusOverloaded is the status of overloaded_error.
const statusOverloaded = 529

// Render returns the status and the [Error] of a failure.
func Render(f *fault.Error) (status int, body any) {
	status = gateway.StatusOf(f.Kind)
	if f.Kind == fault.Overloaded {
		status = statusOverloaded
	}
	kind := errorTypes[f.Kind]
	if kind == "" {
		kind = "api_error"
	}
	var texts []string
	for _, problem := range f.All() {
		texts = append(texts, describe(problem))
	}
	return status, &Error{Type: "error", Error: Problem{Type: kind, Message: strings.Join(texts, "; ")}}
}

// describe returns the message of one problem, after its field unless it starts with it, in Anthropic's form:
// messages.0.content.
func describe(f *fault.Error) string {
	field := strings.NewReplacer("[", ".", "]", "").Replace(f.Field())
	if field == "" || strings.HasPrefix(f.Message, field) {
		return f.Message
	}
	return field + ": " + f.Message
}
