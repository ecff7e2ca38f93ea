// Package mcp offers the APIs as tools of the Model Context Protocol (https://modelcontextprotocol.io), over its
// streamable HTTP transport without sessions:
//
//	POST /mcp of the main port
//
// The arguments of most tools are the body of an API's endpoint, and their schema comes from that API's description. A
// call goes through the API's gateway, with the same bounds, permits and deadline as a client's request.
//
// Terms:
//
//	forwarded tool   a tool whose arguments are the body of an endpoint: see tools.go
//	typed tool       a tool with arguments of a Go type, where that is easier for a model: drawings, molecules, paths
//	refusal          a result that tells the model what was wrong with its call
package mcp
