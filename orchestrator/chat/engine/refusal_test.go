package engine

import (
	"errors"
	"strings"
	"testing"

	"retort/orchestrator/fault"
)

// TestExplain holds which errors of engines are the request's fault.
func TestExplain(t *testing.T) {
	p := Prompt{MaxLength: 512}
	for text, want := range map[string]string{
		"Error generating stream: The decoder prompt (length 900) is longer than the maximum model length of 512.": "you requested 900 tokens",
		"Prompt length (700) exceeds maximum input length (600). Set log level":                                    "maximum context length is 600 tokens. However, you requested 700",
		"This model's maximum context length is 512 tokens. However, your request has 530 input tokens.":           "you requested 530",
		"failed: InvalidRequest: three drawings are too many":                                                      "three drawings are too many",
		"At most 1 image(s) may be provided in one request.":                                                       "At most 1 image(s)",
		"cannot identify image file <_io.BytesIO object at 0x7f>":                                                  "cannot identify image file",
	} {
		f := fault.As(explain(fault.New(fault.Internal, "%s", text), p))
		if f.Kind != fault.Invalid || !strings.Contains(f.Message, want) || strings.Contains(f.Message, "0x7f") {
			t.Errorf("%s: %v %s", text, f.Kind, f.Message)
		}
	}
	defect := errors.New("NoneType has no attribute lora_name")
	if fault.KindOf(explain(defect, p)) != fault.Internal {
		t.Error("a defect is shown to the client")
	}
	if fault.KindOf(explain(fault.New(fault.Rejected, "unexpected inference input"), p)) != fault.Internal {
		t.Error("tensors that do not fit are the client's fault")
	}
}
