// Package stack is the chat API's stack-style interface: Llama Stack's chat completion in the form of autumn 2024, and
// in the newer form that its clients used until summer 2025.
//
//	POST /inference/chat_completion                    older form
//	POST /experimental/ls/inference/chat_completion    the same
//	POST /alpha/inference/chat-completion              newer form
//	POST /v1/inference/chat-completion                 the same
//	GET  /models/list                                  older form
//
// Both forms of a request are taken at every path: the newer one names the model model_id and types the parts of a
// message. Streams differ: in the newer form the text of an event is an object.
//
// A [Request] is checked (validate.go) and becomes a [chat.Conversation] (conversation.go). Its answer is a [Response]
// in one piece (service.go) or a stream of [Event]s (stream.go).
package stack
