// Package httpserver serves a port over HTTP/1.1: fasthttp's server, with what it lacks for clients that nobody can
// trust.
//
//   - [Server] bounds the connections of a port and the time that a client takes for its answer.
//   - [Guard] refuses requests whose extent is ambiguous, and leaves no byte of one request to be read as the next.
//   - [ReadBody] and [OpenBody] read a body with bounds on its size, its memory and its pace.
//   - [Departures] cancels the context of a request whose client has left.
//
// The package knows no API and no route.
//
// Terms:
//
//   - awaited client: the server waits for it: for a request, for more of a body, or until it has taken an answer.
//   - served request: one that has arrived in full, or whose body the handler does not read.
//   - piece: the bytes of a body or an answer that have a deadline of their own.
//   - pace: the average rate that a client must keep over a whole transfer.
package httpserver
