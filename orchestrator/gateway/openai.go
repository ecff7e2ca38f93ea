package gateway

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
)

// OpenAIError is a failure as OpenAI words it, which is what its clients read
// (https://platform.openai.com/docs/guides/error-codes).
type OpenAIError struct {
	Error OpenAIProblem `json:"error"`
}

// OpenAIProblem is what is wrong. Param is the member to blame, such as input[3], and Code a word for programs.
type OpenAIProblem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// WordForOpenAI words a failure as OpenAI does. All problems of a body are in the message; the first is in param.
func WordForOpenAI(f *fault.Error) (status int, body OpenAIError) {
	status = StatusOf(f.Kind)
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
	case status == fiber.StatusUnauthorized:
		return "authentication_error"
	case status == fiber.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// openAICode is "" for none.
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

// ForOpenAI is a request that is read with more leniency where it comes from a client of OpenAI's: see OpenAIClient.
// It is told so before its body is decoded.
type ForOpenAI interface{ ForOpenAI() }

type openAIClient struct{}

// OpenAIClient marks a request that came by the base address for clients of OpenAI's: failures are worded as OpenAI
// words them, except by routes that have words of their own, and requests may be more lenient.
func OpenAIClient(ctx *fasthttp.RequestCtx) { ctx.SetUserValue(openAIClient{}, true) }

func isOpenAIClient(ctx *fasthttp.RequestCtx) bool { return ctx.UserValue(openAIClient{}) != nil }
