// Package admission decides which work starts now, which waits, and which is refused. It knows no HTTP.
//
// Terms:
//
//   - permit: the right to be served, one a request, bounded by the concurrency of an API.
//   - heavy request: one that asks for so much work that short requests must not wait for it.
//   - background work: work that no client waits for, such as the lines of a batch.
//   - watch: an event stream that reports on a job. It does no work and takes no permit.
package admission
