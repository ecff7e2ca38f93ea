// Package chat is the vision-language chat API: messages of text and images
// in, an answer out, whole or as it is written. It has two documented
// interfaces over the same models:
//
//	POST /v1/chat/completions                            completions.go
//	POST /inference/chat_completion                      stack.go
//	POST /experimental/ls/inference/chat_completion      the same
//	POST /alpha/inference/chat-completion                stack.go, newer form
//	POST /v1/inference/chat-completion                   the same
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The first is that of NVIDIA NIM for vision-language models, which serves
// vLLM's (https://docs.vllm.ai/en/stable/serving/openai_compatible_server/),
// which follows OpenAI's (https://platform.openai.com/docs/api-reference/chat).
// The second is Llama Stack's of autumn 2024, with the changes of form that
// its clients made until summer 2025. Where we knowingly differ:
// DIVERGENCES.md.
//
// A request: both interfaces make a [Conversation] of it. The [Service] finds
// the [Model], loads the images (package vision), renders the prompt (package
// prompt) and has the model's [Generator] write. A Generator speaks one of
// three tensor contracts, found in the model's input names: that of Triton's
// vLLM backend (vllm.go), TensorRT-LLM's ensemble and its llmapi model
// (tensorrt.go).
//
// Words: a choice is one of n answers to a request. A piece is what a model
// has written since the piece before. A chunk is a piece on its way to the
// client. Usage counts tokens of prompt and completion.
package chat
