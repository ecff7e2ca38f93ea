// Package openai is the chat API's interface for OpenAI's clients:
//
//	endpoint                   request            response           event of a stream
//	POST /v1/chat/completions  [ChatRequest]      [Completion]       [Chunk]
//	POST /v1/completions       [TextRequest]      [TextCompletion]   [TextCompletion]
//	POST /v1/responses         [ResponseRequest]  [Response]         named events (response_stream.go)
//	POST /tokenize             [TokenizeRequest]  [Tokenized]
//	POST /detokenize           [DetokenizeRequest] [Detokenized]
//
// A [Store] keeps responses for later requests:
//
//	GET, DELETE /v1/responses/{id}       [Response], [DeletedResponse]
//	GET /v1/responses/{id}/input_items   [ItemList]
//	POST /v1/responses/{id}/cancel       [Response]
//
// Each endpoint of OpenAI also exists below /v1/openai, the base path of llama-stack-client in 2025.
//
// The interface is that of NVIDIA NIM for vision-language models. NIM has vLLM's interface
// (https://docs.vllm.ai/en/stable/serving/openai_compatible_server/), which follows OpenAI's
// (https://platform.openai.com/docs/api-reference/chat).
//
// A request is validated and becomes a [chat.Conversation]; the interface encodes the [chat.Answer]. Text completions
// are in the files text_*.go, the Responses API is in response_*.go, and chat completions and what all share are in the
// others.
//
// A guide constrains the text of an answer (guide.go). Tools are functions that the model may call or, by tool_choice,
// must call (tools.go). Both become the plan of an answer: see package tools.
//
// Terms:
//
//	guide    a constraint on the text of an answer, such as a JSON schema (engine.Guide)
//	item     a message, tool call or tool result in the Responses API
//	plan     the guide of an answer, and how its text becomes tool calls (tools.Plan)
package openai
