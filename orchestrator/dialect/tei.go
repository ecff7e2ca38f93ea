package dialect

import (
	"net/http"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// TEIStatus returns the status and error_type of a failure at text-embeddings-inference
// (https://huggingface.github.io/text-embeddings-inference): Validation for a bad request, Overloaded, Unhealthy if no
// model can serve, Backend for all others.
func TEIStatus(f *fault.Error) (status int, errorType string) {
	switch f.Kind {
	case fault.Invalid:
		if f.Rule == "" { // a well-formed text that is too long for the model
			return http.StatusRequestEntityTooLarge, "Validation"
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
