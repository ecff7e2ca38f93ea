// Package mcp serves the APIs as tools of the Model Context Protocol (https://modelcontextprotocol.io), over its
// streamable HTTP transport without sessions:
//
//	POST /mcp of the main port
//
// The arguments of most tools are the body of an API's endpoint, and their schema comes from that API's description. A
// call goes through the API's gateway, with the same bounds, permits and deadline as a client's request.
//
// A search can report its progress, and can become a task: see [Tasks].
//
// Terms:
//
//	forwarded tool   a tool whose arguments are the body of an endpoint
//	typed tool       a tool whose arguments are a Go type, which is easier for a model to use
//	refusal          a result that tells the model what was wrong with its call
package mcp
