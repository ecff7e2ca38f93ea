// Package teigrpc is the gRPC server of text-embeddings-inference
// (https://huggingface.github.io/text-embeddings-inference): the services Info, Embed, Predict, Rerank and Tokenize of
// tei.v1, health checks and reflection. It is another form of the HTTP endpoints of one API: each message becomes a
// request to its gateway, with the same bounds, permits, deadline, log line and metrics. A failure has the status that
// text-embeddings-inference gives its kind.
//
// Terms:
//   - call: a request to a gateway of this program.
package teigrpc
