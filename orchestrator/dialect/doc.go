// Package dialect renders failures as published APIs do that several of our APIs speak: OpenAI's, whose clients find
// all models under one base address, and text-embeddings-inference's, which embedding and ranking answer.
//
// It is a room of its own because its users are sisters (chat, embedding, ranking, jobs), which may not import each
// other, and the gateway knows no API.
package dialect
