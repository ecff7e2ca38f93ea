package gateway

import "retort/orchestrator/fault"

// Words are how a failure is worded: the status and the body, which is encoded as JSON.
type Words = func(f *fault.Error) (status int, body any)

// PathWords is an API with endpoints of other published interfaces beside its own, whose clients expect failures in
// other words.
type PathWords interface {
	// Words returns those of a path, nil where they are RenderFault's.
	Words(path string) Words
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
