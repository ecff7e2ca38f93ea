package queue

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Answers holds one answer for each number of a job. Only the first writer succeeds: JetStream keeps one message of a
// subject and refuses the next.
type Answers struct {
	engine  *Engine
	subject string
	stream  jetstream.Stream
	large   *Files
}

// Headers of the message that refers to an answer too large for a message.
const (
	headerFile = "Retort-File" // name of the file that holds the answer
	headerSize = "Retort-Size" // its length in bytes
)

// NewAnswers opens the answers with a name. It creates their streams if they do not exist.
func NewAnswers(ctx context.Context, e *Engine, name string) (*Answers, error) {
	a := &Answers{engine: e, subject: prefix + ".answers." + name + "."}
	var err error
	if a.large, err = NewFiles(ctx, e, "answers_"+name); err != nil {
		return nil, err
	}
	a.stream, err = e.stream(ctx, jetstream.StreamConfig{
		Name:                 prefix + "_answers_" + name,
		Subjects:             []string{a.subject + "*.*"},
		MaxMsgsPerSubject:    1,
		MaxBytes:             e.streamBound(),
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		AllowDirect:          true,
	})
	return a, err
}

func (a *Answers) subjectOf(job string, n int) string { return a.subject + job + "." + strconv.Itoa(n) }

// Put writes the answer of a number. It returns ErrExists if there is one, which stays.
func (a *Answers) Put(ctx context.Context, job string, n int, answer []byte) error {
	if len(answer) <= PartSize {
		return a.engine.publish(ctx, Work, a.subjectOf(job, n), answer)
	}
	name := job + "." + nuid.Next() // so that two writers do not overwrite each other
	if _, err := a.large.Write(ctx, Work, name, bytes.NewReader(answer)); err != nil {
		return err
	}
	pointer := nats.NewMsg(a.subjectOf(job, n))
	pointer.Header.Set(headerFile, name)
	pointer.Header.Set(headerSize, strconv.Itoa(len(answer)))
	err := a.engine.publishMsg(ctx, Work, pointer)
	if errors.Is(err, ErrExists) || errors.Is(err, ErrFull) { // after another error the pointer may be stored
		_ = a.large.Delete(ctx, name) // Drop finds what is left
	}
	return err
}

// Has reports whether a number has an answer.
func (a *Answers) Has(ctx context.Context, job string, n int) (bool, error) {
	_, err := a.stream.GetLastMsgForSubject(ctx, a.subjectOf(job, n))
	if err = translate(err); errors.Is(err, ErrNone) {
		return false, nil
	}
	return err == nil, err
}

// Get returns the answer of a number, or ErrNone.
func (a *Answers) Get(ctx context.Context, job string, n int) ([]byte, error) {
	msg, err := a.engine.read(ctx, a.stream, a.subjectOf(job, n))
	if err != nil {
		return nil, err
	}
	name := msg.Header.Get(headerFile)
	if name == "" {
		return msg.Data, nil
	}
	size, err := strconv.ParseInt(msg.Header.Get(headerSize), 10, 64)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(a.large.Open(ctx, name, size))
}

// Drop deletes all answers of a job.
func (a *Answers) Drop(ctx context.Context, job string) error {
	return translate(errors.Join(
		a.stream.Purge(ctx, jetstream.WithPurgeSubject(a.subject+job+".*")),
		a.large.DeleteAll(ctx, job),
	))
}
