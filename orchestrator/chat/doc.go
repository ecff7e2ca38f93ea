// Package chat is the vision-language chat API: messages of text and images in, an answer out, in one piece or as a
// stream. Two documented interfaces share its models, each in a package:
//
//	chat/openai    POST /v1/chat/completions, /v1/completions, /v1/responses
//	chat/stack     POST /inference/chat_completion and its other paths
//
// This package has the use case and the shared endpoints
//
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// DIVERGENCES.md lists where the API knowingly differs from the published one.
//
// An interface turns a request into a [Conversation]. The [Service] finds the [Model], renders the prompt with its chat
// template (package prompt), counts its tokens (length.go), loads the images (package vision) and runs the model's
// engine (package engine). The interface encodes the [Answer].
//
// A model's entry in the model repository has retort_api = "chat" among the parameters of its config.pbtxt. The others
// are in docs/operate/CHAT.md.
//
// Special tokens of tokenizer.json and tokenizer_config.json beside the configuration are escaped in messages too.
//
// Retort's models refuse a request with an error that begins with "InvalidRequest: ". The client receives it with
// status 400. For a prompt that is too long, models may use vLLM's wording (engine/refusal.go).
//
// Terms:
//
//	choice    one of the n answers to a request
//	chunk     new text of one choice, on its way to the client
//	clamp     reduce max_tokens to what fits instead of refusing the request
//	guide     a constraint on an answer: a JSON schema, a regular expression, a grammar or a list of texts
//	part      a text or an image within a message
package chat
