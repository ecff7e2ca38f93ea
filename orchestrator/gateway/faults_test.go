package gateway

import (
	"errors"
	"testing"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Errors of Fiber become faults of the same meaning, and internal ones are not shown.
func TestClassify(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want fault.Error
	}{
		"no route": {fiber.NewError(404, "Cannot GET /x"), fault.Error{
			Kind: fault.NotFound, Subject: fault.Route, Message: "Not Found",
		}},
		"wrong method": {fiber.ErrMethodNotAllowed, fault.Error{Kind: fault.Method, Message: "Method Not Allowed"}},
		"a defect":     {errors.New("secret"), fault.Error{Kind: fault.Internal, Message: "Internal server error"}},
		"Triton refused": {fault.New(fault.Rejected, "secret"), fault.Error{
			Kind: fault.Internal, Message: "Internal server error",
		}},
	} {
		got := classify(test.err)
		if got.Kind != test.want.Kind || got.Subject != test.want.Subject || got.Message != test.want.Message {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
