// Package dialect renders failures in the formats of published APIs that several of our APIs share: OpenAI's, whose
// clients reach all models at one base address, and text-embeddings-inference's, for embedding and ranking.
//
// It is a separate room because the APIs that share a dialect may not import each other, and the gateway knows no
// API.
package dialect

import (
	"net/http"
	"strings"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// OpenAI is the dialect of OpenAI's clients.
var OpenAI = &gateway.Dialect{
	Render: func(f *fault.Error) (status int, body any) { return RenderOpenAI(f) },
	RenderStream: func(f *fault.Error) []any {
		_, body := RenderOpenAI(f)
		return []any{body, "[DONE]"}
	},
}

// OpenAIError is the body of an error answer (https://platform.openai.com/docs/guides/error-codes).
type OpenAIError struct {
	Error OpenAIProblem `json:"error"`
}

// OpenAIProblem says what is wrong.
type OpenAIProblem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // member at fault, such as input[3]
	Code    *string `json:"code"`  // for programs
}

// RenderOpenAI renders a failure as OpenAI does. The message names all problems of a body, param the first.
func RenderOpenAI(f *fault.Error) (status int, body OpenAIError) {
	status = gateway.StatusOf(f.Kind)
	body.Error = OpenAIProblem{Message: f.Summary(), Type: openAIType(status)}
	if code := openAICode(f); code != "" {
		body.Error.Code = &code
	}
	field := f.Field()
	if f.Subject == fault.Model {
		field = "model"
	}
	if field != "" {
		body.Error.Param = &field
	}
	return status, body
}

func openAIType(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// openAICode returns the code of a failure, or "" if it has none.
func openAICode(f *fault.Error) string {
	switch {
	case f.Kind == fault.Unauthorized:
		return "invalid_api_key"
	case f.Kind == fault.TooMany:
		return "rate_limit_exceeded"
	case f.Subject == fault.Model:
		return "model_not_found"
	case f.Subject == fault.Route || f.Kind == fault.Method:
		return "unknown_url"
	case f.Kind == fault.Invalid && f.Subject == fault.Response:
		return "previous_response_not_found"
	case f.Kind != fault.Invalid || f.Rule == "":
		return ""
	case f.Rule == "missing":
		return "missing_required_parameter"
	case f.Rule == "extra_forbidden":
		return "unknown_parameter"
	case strings.HasSuffix(f.Rule, "_type"):
		return "invalid_type"
	}
	return "invalid_value"
}

// TEIStatus returns the status and error_type of a failure at text-embeddings-inference
// (https://huggingface.github.io/text-embeddings-inference): Empty for an empty list or text, Validation for any other bad
// request, Overloaded, Unhealthy if no model can serve, Backend for all others.
func TEIStatus(f *fault.Error) (status int, errorType string) {
	switch f.Kind {
	case fault.Invalid:
		if f.Rule == "" { // a well-formed text that is too long for the model
			return http.StatusRequestEntityTooLarge, "Validation"
		}
		if f.Rule == "too_short" || f.Rule == "string_too_short" {
			return http.StatusBadRequest, "Empty"
		}
		return http.StatusUnprocessableEntity, "Validation"
	case fault.TooLarge, fault.NotFound, fault.Method, fault.Unauthorized:
		return gateway.StatusOf(f.Kind), "Validation"
	case fault.Overloaded, fault.TooMany:
		return http.StatusTooManyRequests, "Overloaded"
	case fault.Unavailable:
		return gateway.StatusOf(f.Kind), "Unhealthy"
	}
	return gateway.StatusOf(f.Kind), "Backend"
}
