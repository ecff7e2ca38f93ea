// Package openai is the chat API's interface for OpenAI's clients:
//
//	POST /v1/chat/completions
//	POST /v1/completions
//	POST /v1/responses
//
// and each of them below /v1/openai, where llama-stack-client looked for them in 2025.
//
// It is that of NVIDIA NIM for vision-language models, which serves vLLM's
// (https://docs.vllm.ai/en/stable/serving/openai_compatible_server/), which follows OpenAI's
// (https://platform.openai.com/docs/api-reference/chat).
//
// A [Request] is checked (validate.go, unsupported.go) and becomes a [chat.Conversation] (conversation.go). Its answer
// is a [Completion] in one piece (service.go) or a stream of [Chunk]s (stream.go). Text completions (text_*.go) and the
// Responses API (response_*.go) lead to the same use case. What tools and forms of the answer come to is in tools.go and
// form.go.
package openai
