// Package responses keeps the responses of OpenAI's Responses API for later requests, and runs background responses. It
// knows nothing of their content, which is JSON of the chat API. For users: docs/use/RESPONSES.md.
//
// A response is a record and a file with its content. Records of a conversation refer to the one before them, so each
// item of a conversation is stored once. A background response has a task, too; a worker of any gateway sends its
// request to the chat API.
//
// Terms:
//
//	caller    who sends a request: gateway.Caller
//	chain     a response with all responses before it, which previous_response_id continues
//	content   the bytes that the chat API stores for a response
//	turn      one response of a chain
package responses
