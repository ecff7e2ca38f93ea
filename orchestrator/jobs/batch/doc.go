// Package batch serves OpenAI's Files and Batches (https://platform.openai.com/docs/api-reference/files, …/batch) for
// the documented APIs of this program:
//
//	POST, GET /v1/files; GET, DELETE /v1/files/{id}; GET /v1/files/{id}/content
//	POST, GET /v1/batches; GET /v1/batches/{id}; POST /v1/batches/{id}/cancel
//
// A batch is a file of requests to one endpoint, one a line. Its states, stored in [queue]:
//
//	validating    a worker reads the whole file; one invalid line fails the batch before any request is sent
//	in_progress   tasks of one chunk each are taken by any gateway, which sends the lines to its own API; each line's
//	              answer is written once, so a task that is done twice leaves one answer
//	finalizing    the answers are gathered into an output and an error file, in the order of the lines
//	completed     or expired, cancelled or failed
//
// Requests of clients go before lines: see admission.BackgroundGate. For users: docs/use/JOBS.md; for operators:
// docs/operate/JOBS.md.
//
// Terms:
//
//	line      one request of a batch; lines are numbered from 0, without blank ones
//	chunk     consecutive lines of a file that are one task
//	step      a task for a whole batch: check its file, or finish it
//	answer    what is stored for a line: a mark (good or bad) and its line of the output or error file
package batch
