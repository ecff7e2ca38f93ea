package gateway

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// StatusOf is the HTTP status of a kind of failure where an API's documentation does not ask for another one.
func StatusOf(kind fault.Kind) int {
	switch kind {
	case fault.Invalid:
		return fiber.StatusBadRequest
	case fault.TooLarge:
		return fiber.StatusRequestEntityTooLarge
	case fault.NotFound:
		return fiber.StatusNotFound
	case fault.Method:
		return fiber.StatusMethodNotAllowed
	case fault.Unauthorized:
		return fiber.StatusUnauthorized
	case fault.TooMany:
		return fiber.StatusTooManyRequests
	case fault.Overloaded, fault.Unavailable:
		return fiber.StatusServiceUnavailable
	case fault.Timeout:
		return fiber.StatusGatewayTimeout
	case fault.Canceled:
		return 499 // the client is gone: for the log
	default:
		return fiber.StatusInternalServerError
	}
}
