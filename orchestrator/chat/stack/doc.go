// Package stack is the chat API's interface for clients of Llama Stack's chat completion, in two versions: the older
// one of autumn 2024, and the newer one that clients used until summer 2025.
//
//	POST /inference/chat_completion                    older version
//	POST /experimental/ls/inference/chat_completion    older version
//	POST /alpha/inference/chat-completion              newer version
//	POST /v1/inference/chat-completion                 newer version
//	GET  /models/list                                  older version
//
// All paths accept requests of both versions. The newer one renames model to model_id and gives the parts of a message
// a type. Only streams depend on the path: in the newer version the text of an event is an object.
//
// A [Request] is validated (validate.go) and becomes a [chat.Conversation] (conversation.go). Its answer is a
// [Response] (service.go) or a stream of [Event]s (stream.go).
package stack
