// Package optimization has the searches of the molecule APIs done as jobs, for those that take longer than a request may:
//
//	POST /generate/jobs               the body of /generate → a job, at once
//	GET  /generate/jobs               the jobs of this key
//	GET  /generate/jobs/{id}          a job: its state and progress
//	GET  /generate/jobs/{id}/events   the same as server-sent events, one for each change
//	GET  /generate/jobs/{id}/result   the answer of /generate, once the job has ended
//	POST /generate/jobs/{id}/cancel   it ends with what it has found
//
// A job is a record, a body and a task, kept in [queue]. A worker of any gateway takes the task and asks its own API for a
// stream. Each event with what has been found so far is written into the record at once, so that after the end of a
// gateway, of Triton or of an oracle the next attempt begins with these molecules and does the iterations that are left.
//
// The words: an API is one of the two, by name; a search is that of one seed, of which a job may have many; an attempt is
// one request to the API.
package optimization
