// Package anthropic is the chat API's interface for clients of Anthropic's Messages API
// (https://platform.claude.com/docs/en/api/messages), which LLM NIM 2.x and vLLM answer too:
//
//	POST /v1/messages               [Request] → [Message], or named events (stream.go)
//	POST /v1/messages/count_tokens  [Input] → [Count]
//	GET  /v1/models                 [ModelPage], if the request has the header anthropic-version
//	GET  /v1/models/{id}            [Model], likewise
//
// A request is validated (validate.go) and becomes a [chat.Conversation] (conversation.go). The messageWriter
// (stream.go) encodes the [chat.Answer]. An answer that must call a tool is constrained by a guide: see package tools.
//
// Terms:
//
//	block    a part of a message's content: a text, an image, a call of a tool or its result
//	turn     a message; the model reads neighbouring turns of one role as one
package anthropic
