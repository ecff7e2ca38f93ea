// Package queue stores work that outlasts a request, on NATS JetStream: embedded in this process and off the network,
// or a cluster that several gateways share. It knows nothing of what the work is.
//
// An [Engine] has four kinds of parts, each on a stream of JetStream:
//
//   - [Tasks] is a work queue. One worker of one gateway has a task at a time. If it dies, another worker gets the
//     task, so a task may be done twice and must be idempotent.
//   - [Table] is a key-value store of records, such as the input and the progress of a job. An [Index] holds a summary
//     of each record in memory.
//   - [Files] are bytes of any length, written and read in parts.
//   - [Answers] can be written once each. If a task is done twice, one result is stored.
//
// A kind of job uses them like this:
//
//	jobs, err := queue.NewTable[Job](ctx, engine, "searches")       // once, at the start
//	tasks, err := queue.NewTasks(ctx, engine, "searches")
//	go tasks.Work(ctx, 2, func(ctx context.Context, t queue.Task) error {
//		job, err := jobs.Get(ctx, t.ID)                         // ErrNone: the job was deleted
//		…                                                       // work; return early when ctx ends
//		_, err = jobs.Change(ctx, t.ID, func(j *Job) error {…})  // store progress for the next attempt
//		return err                                              // nil: done; an error: retry after a pause
//	})
//
//	err = jobs.Create(ctx, id, job)                                 // for each job: first its record,
//	err = tasks.Push(ctx, queue.Work, id, nil)                      // then its task; Push is idempotent
//
// JetStream's terms, explained in https://docs.nats.io/nats-concepts/… at the page named last:
//
//	subject   the name of a message, words with dots between them (subjects)
//	stream    a store of the messages of some subjects; ours keep one for each subject (jetstream/streams)
//	bucket    a key-value store on a stream: the message at a key's subject is its value (jetstream/key-value-store)
//	consumer  a stream's record of which messages workers have received and acknowledged (jetstream/consumers)
//	replica   one of the nodes that hold a stream; a read from it may be stale (jetstream)
//
// Names of parts are letters, digits, - and _. Keys and ids may also have dots, at which filters can select.
//
// Terms:
//
//	owner     the part of a key before its first dot
//	purpose   what a write is for: input, work or outcome
//	marker    an entry that tells watchers of a deleted record
//	stalled   of a stream: it takes no writes until JetStream restarts
//	lost      of a stream: it failed right after a restart, so another restart would not help
package queue
