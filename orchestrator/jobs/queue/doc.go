// Package queue keeps work that outlasts a request: on NATS JetStream, embedded in this process and off the network, or
// of a cluster that several gateways share. It knows nothing of what the work is.
//
// An [Engine] has four parts, each on a stream of JetStream's:
//
//   - [Tasks] is a work queue. A task is taken by one worker of one gateway at a time, and taken again by another where
//     that one dies. So a task may be done twice: whoever does it must find the same end both times.
//   - [Table] is a key-value store of records, for what a task works on and how far it has come. An [Index] holds a
//     summary of each in memory.
//   - [Files] are bytes of any length, written and read in parts.
//   - [Answers] can be written once each, whoever comes first: what makes a task that is done twice leave one result.
//
// A kind of job uses them like this:
//
//	jobs, err := queue.NewTable[Job](ctx, engine, "searches")       // once, when it starts
//	tasks, err := queue.NewTasks(ctx, engine, "searches")
//	go tasks.Work(ctx, 2, func(ctx context.Context, t queue.Task) error {
//		job, err := jobs.Get(ctx, t.ID)                         // a record that is gone: the job was deleted
//		…                                                       // work; end early when ctx does
//		_, err = jobs.Change(ctx, t.ID, func(j *Job) error {…})  // progress, so that a second attempt goes on from there
//		return err                                              // nil: done; an error: again, after a pause
//	})
//
//	err = jobs.Create(ctx, id, job)                                 // for each job: first its record,
//	err = tasks.Push(ctx, queue.Work, id, nil)                      // then its task; pushed twice, it is there once
//
// Names of parts are letters, digits, - and _; keys and ids may have dots in them too, at which filters can select.
package queue
