package gateway

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// TEIStatusOf is the status of a failure at text-embeddings-inference, and its error_type
// (https://huggingface.github.io/text-embeddings-inference): Validation for what is wrong with a request, Overloaded,
// Unhealthy where no model can serve, Backend for the rest.
func TEIStatusOf(f *fault.Error) (status int, errorType string) {
	switch f.Kind {
	case fault.Invalid:
		if f.Rule == "" { // well formed, and longer than the model takes
			return fiber.StatusRequestEntityTooLarge, "Validation"
		}
		return fiber.StatusUnprocessableEntity, "Validation"
	case fault.TooLarge, fault.NotFound, fault.Method, fault.Unauthorized:
		return StatusOf(f.Kind), "Validation"
	case fault.Overloaded, fault.TooMany:
		return fiber.StatusTooManyRequests, "Overloaded"
	case fault.Unavailable:
		return StatusOf(f.Kind), "Unhealthy"
	}
	return StatusOf(f.Kind), "Backend"
}
