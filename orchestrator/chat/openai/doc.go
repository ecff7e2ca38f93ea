// Package openai is the chat API's interface for OpenAI's clients:
//
//	POST /v1/chat/completions
//	POST /v1/completions
//	POST /v1/responses
//
// Each also exists below /v1/openai, the base path of llama-stack-client in 2025.
//
// The interface is that of NVIDIA NIM for vision-language models. NIM has vLLM's interface
// (https://docs.vllm.ai/en/stable/serving/openai_compatible_server/), which follows OpenAI's
// (https://platform.openai.com/docs/api-reference/chat).
//
// A [Request] is validated (validate.go) and becomes a [chat.Conversation] (conversation.go). Its answer is a
// [Completion] (service.go) or a stream of [Chunk]s (stream.go). Text completions (text_*.go) and the Responses API
// (response_*.go) use the same service. guide.go and tools.go turn the guides and tools of a request into its plan.
//
// Terms:
//
//	guide    a constraint on the text of an answer, such as a JSON schema (engine.Guide)
//	item     a message, tool call or tool result in the Responses API
//	plan     the guide of an answer, and how its text becomes tool calls
package openai
