// Package openai is the chat API's interface for OpenAI's clients:
//
//	POST /v1/chat/completions
//
// It is that of NVIDIA NIM for vision-language models, which serves vLLM's
// (https://docs.vllm.ai/en/stable/serving/openai_compatible_server/), which follows OpenAI's
// (https://platform.openai.com/docs/api-reference/chat).
//
// A [Request] is checked (validate.go, unsupported.go) and becomes a [chat.Conversation] (conversation.go). Its answer
// is a [Completion] in one piece (service.go) or a stream of [Chunk]s (stream.go).
package openai
