// Package optimization runs searches of the molecule APIs as jobs, for searches that take longer than a request may:
//
//	POST /generate/jobs               the body of /generate → a job, at once
//	GET  /generate/jobs               the jobs of this key
//	GET  /generate/jobs/{id}          a job: its state and progress
//	GET  /generate/jobs/{id}/events   the job as server-sent events, one for each change
//	GET  /generate/jobs/{id}/result   the answer of /generate, once the job has ended
//	GET  /generate/jobs/{id}/ask      the molecules that wait for a score of the client
//	POST /generate/jobs/{id}/tell     scores of the client
//	GET  /generate/jobs/{id}/evaluated   the evaluated molecules, with their scores
//	POST /generate/jobs/{id}/cancel   the job ends with the molecules found so far
//
// A job is a record, a body and a task, stored in [queue]. A worker of any gateway takes the task and requests a stream
// from its own API. It writes the molecules found so far into the record as they come. When a gateway, Triton or an
// oracle fails, the next attempt starts from these molecules and runs only the remaining iterations.
//
// The client of a told job (told.go) has the scores of the molecules. An attempt writes the molecules that its searches
// ask for as batches, and waits for their scores (board.go). After a while the job is parked, without a task, until the
// scores arrive. The next attempt repeats the searches, with the same random numbers, up to the new scores.
//
// Terms:
//
//	API           latent or masked, by name
//	search        the optimisation of one seed; a job has one or many
//	attempt       one request to the API for a job
//	candidate     a molecule that waits for a score of the client, or had to
//	warm starts   the molecules that the next attempt starts from
package optimization
