package gateway

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Words are how a failure is worded: the status and the body, which is encoded as JSON.
type Words = func(f *fault.Error) (status int, body any)

// PathWords is an API with endpoints of other published interfaces beside its own, whose clients expect failures in
// other words.
type PathWords interface {
	// Words returns those of a path, nil where they are RenderFault's.
	Words(path string) Words
}

// Interface is another published way to ask an API, beside the documented one.
type Interface interface {
	// Routes adds its endpoints.
	Routes(r fiber.Router)
	PathWords
}

// Interfaces are those of an API, which embeds them.
type Interfaces []Interface

// Mount has the API answer to more interfaces. It is called before Routes.
func (all *Interfaces) Mount(more ...Interface) { *all = append(*all, more...) }

// Routes adds the endpoints of all.
func (all Interfaces) Routes(r fiber.Router) {
	for _, i := range all {
		i.Routes(r)
	}
}

// Words returns those of failures at a path of one of them, nil at the documented ones.
func (all Interfaces) Words(path string) Words {
	for _, i := range all {
		if words := i.Words(path); words != nil {
			return words
		}
	}
	return nil
}

// word says a failure in the words that the client expects.
func (x *exchange) word(f *fault.Error) (status int, body any) {
	if api, ok := x.gateway.api.(PathWords); ok {
		if words := api.Words(x.path); words != nil {
			return words(f)
		}
	}
	if x.openAI {
		return WordForOpenAI(f)
	}
	return x.gateway.api.RenderFault(f)
}
