// Package batch is OpenAI's Files and Batches (https://platform.openai.com/docs/api-reference/files, …/batch) over the
// documented APIs of this program:
//
//	POST, GET /v1/files; GET, DELETE /v1/files/{id}; GET /v1/files/{id}/content
//	POST, GET /v1/batches; GET /v1/batches/{id}; POST /v1/batches/{id}/cancel
//
// A batch is a file of requests, one a line, to one endpoint. Its life, kept in [queue]:
//
//	validating    a worker reads the whole file; a wrong line fails the batch before anything is asked
//	in_progress   tasks of some lines each (see chunk) are taken by any gateway, which asks its own API; each line's
//	              answer is written once, so that a task that was done twice leaves one
//	finalizing    the answers are put together into an output and an error file, in the order of the lines
//	completed     or, of a batch that was not, expired, cancelled, failed
//
// Lines wait for the requests of clients: see the room priority. JOBS.md is the documentation for users and operators.
package batch
