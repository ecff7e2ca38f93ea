package engine

import (
	"errors"
	"strings"
	"testing"

	"retort/orchestrator/fault"
)

// TestExplain checks which errors of engines are the request's fault.
func TestExplain(t *testing.T) {
	r := Request{MaxLength: 512}
	for _, test := range []struct{ message, want string }{
		{
			"Error generating stream: The decoder prompt (length 900) is longer than the maximum model length of 512.",
			"you requested 900 tokens",
		},
		{
			"Prompt length (700) exceeds maximum input length (600). Set log level",
			"maximum context length is 600 tokens. However, you requested 700",
		},
		{
			"This model's maximum context length is 512 tokens. However, your request has 530 input tokens.",
			"you requested 530",
		},
		{
			"The decoder prompt (length 512) plus the number of requested output tokens (at least 1) is longer than the maximum model length of 512. Make",
			"you requested 512 tokens",
		},
		{
			"This model's maximum context length is 256 tokens. However, your prompt contains at least 257 input tokens, which exceeds",
			"length is 256 tokens. However, you requested 257 tokens",
		},
		{
			"This model's maximum context length is 256 tokens. However, your prompt contains 9000 characters (more than 512 characters",
			"length is 256 tokens. However, your messages are longer",
		},
		{"failed: InvalidRequest: three drawings are too many", "three drawings are too many"},
		{"At most 1 image(s) may be provided in one request.", "At most 1 image(s)"},
		{"cannot identify image file <_io.BytesIO object at 0x7f>", "cannot identify image file"},
	} {
		f := fault.As(explain(fault.New(fault.Internal, "%s", test.message), r))
		if f.Kind != fault.Invalid || !strings.Contains(f.Message, test.want) || strings.Contains(f.Message, "0x7f") {
			t.Errorf("%s: got %v %s, want %s", test.message, f.Kind, f.Message, test.want)
		}
	}
	failure := errors.New("NoneType has no attribute lora_name")
	if fault.KindOf(explain(failure, r)) != fault.Internal {
		t.Error("a failure of the engine is the client's fault")
	}
	if fault.KindOf(explain(fault.New(fault.Rejected, "unexpected inference input"), r)) != fault.Internal {
		t.Error("tensors that do not fit are the client's fault")
	}
}

// TestExplainNamesTheField checks that vLLM's errors about a guide or a setting name its field.
func TestExplainNamesTheField(t *testing.T) {
	r := Request{Sampling: Sampling{Guide: &Guide{Field: "response_format", Object: true}}}
	for _, test := range []struct{ message, field string }{
		{
			"Error generating stream: The provided JSON schema contains features not supported by xgrammar.",
			"response_format",
		},
		{
			"Error generating stream: Failed to transform json schema into a grammar: [12:00:00] json_schema.cc:1: Unsupported type",
			"response_format",
		},
		{"Error generating stream: Invalid grammar specification: no rule", "response_format"},
		{
			"Error generating stream: Requested sample logprobs of 9, which is greater than max allowed: 5 (parameter=logprobs, value=9)",
			"logprobs",
		},
		{"temperature must be in [0, 2], got 3.0. (parameter=temperature, value=3.0)", "temperature"},
	} {
		f := fault.As(explain(fault.New(fault.Internal, "%s", test.message), r))
		if f.Kind != fault.Invalid || f.Field() != test.field {
			t.Errorf("%s: got %v of %s, want Invalid of %s", test.message, f.Kind, f.Field(), test.field)
		}
		if strings.Contains(f.Message, "parameter=") || strings.HasPrefix(f.Message, "Error") {
			t.Errorf("%s: got the message %s", test.message, f.Message)
		}
	}
	for _, text := range []string{"tensor broken (parameter=weights)", "EngineCore encountered an issue."} {
		if fault.KindOf(explain(fault.New(fault.Internal, "%s", text), r)) != fault.Internal {
			t.Errorf("a failure of the engine is the client's fault: %s", text)
		}
	}
}
