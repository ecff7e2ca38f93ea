// Package mcp offers the APIs as tools of the Model Context Protocol (https://modelcontextprotocol.io), over its
// streamable HTTP transport without sessions:
//
//	POST /mcp of the main port
//
// A tool's arguments are the body of the endpoint that answers it, and its schema is that of the API's description, so
// the two cannot differ. The endpoint is asked as any client asks it: bounds, permits, deadlines and models are its own.
// A few tools have arguments of their own, where that is easier for a model: drawings, molecules, paths between them.
package mcp
