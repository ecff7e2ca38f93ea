package dialect

import (
	"fmt"
	"testing"

	"retort/orchestrator/fault"
)

// The code and param of a NotFound follow from its subject, whatever names its message has.
func TestOpenAINotFound(t *testing.T) {
	for _, test := range []struct {
		fault       *fault.Error
		code, param string
	}{
		{fault.Missing(fault.Model, "The model `file-1` does not exist."), "model_not_found", "model"},
		{fault.Missing(fault.Model, "no file of it").Under("model"), "model_not_found", "model"},
		{fault.Missing(fault.Route, "Unknown request URL: POST /v1/models."), "unknown_url", ""},
		{fault.New(fault.Method, "Method Not Allowed"), "unknown_url", ""},
		{fault.Missing(fault.File, "No such File object: model-1").Under("id"), "", "id"},
		{fault.Missing(fault.File, "No such File: model-1").Under("input_file_id").Clipped(), "", "input_file_id"},
		{fault.Missing(fault.Batch, "No batch found with id 'model'.").Under("id"), "", "id"},
		{fault.Missing(fault.Job, "There is no such job."), "", ""},
		{fault.Missing(fault.Cursor, "There is nothing with the id model in this list.").Under("after"), "", "after"},
	} {
		status, body := RenderOpenAI(test.fault)
		code, param := text(body.Error.Code), text(body.Error.Param)
		if status < 404 || code != test.code || param != test.param {
			t.Errorf("%s: %d, code %q, param %q, want %q, %q",
				test.fault.Message, status, code, param, test.code, test.param)
		}
	}
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// TooMany has a status and an error type in each dialect.
func TestOpenAITooMany(t *testing.T) {
	f := &fault.Error{Kind: fault.TooMany, Message: "enough"}
	status, body := RenderOpenAI(f)
	got := fmt.Sprint(status, " ", body.Error.Type, " ", *body.Error.Code)
	if got != "429 rate_limit_error rate_limit_exceeded" {
		t.Error(got)
	}
	if status, kind := TEIStatus(f); status != 429 || kind != "Overloaded" {
		t.Error(status, kind)
	}
}
