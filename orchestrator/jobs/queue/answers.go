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

// Answers holds one answer for each number of a job, which the first writer alone writes: JetStream keeps one message
// of a subject and refuses the next.
type Answers struct {
	engine  *Engine
	subject string
	stream  jetstream.Stream
	large   *Files
}

// Header of a message in place of an answer that is too large for one: where it is, and its length.
const (
	headerFile = "Retort-File"
	headerSize = "Retort-Size"
)

// NewAnswers returns the answers of a name.
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
		MaxBytes:             e.maxBytes(),
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		AllowDirect:          true,
	})
	return a, err
}

func (a *Answers) at(job string, n int) string { return a.subject + job + "." + strconv.Itoa(n) }

// Put writes the answer of a number; ErrExists: it has one already, which stays.
func (a *Answers) Put(ctx context.Context, job string, n int, answer []byte) error {
	if len(answer) <= PartSize {
		return a.engine.publish(ctx, Work, message(a.at(job, n), answer))
	}
	name := job + "." + nuid.Next() // two writers do not touch each other's
	if _, err := a.large.Write(ctx, Work, name, bytes.NewReader(answer)); err != nil {
		return err
	}
	pointer := nats.NewMsg(a.at(job, n))
	pointer.Header.Set(headerFile, name)
	pointer.Header.Set(headerSize, strconv.Itoa(len(answer)))
	err := a.engine.publish(ctx, Work, pointer)
	if errors.Is(err, ErrExists) || errors.Is(err, ErrFull) { // after another error the pointer may be stored
		_ = a.large.Delete(ctx, name) // Drop finds what is left
	}
	return err
}

// Has reports whether a number has its answer.
func (a *Answers) Has(ctx context.Context, job string, n int) (bool, error) {
	_, err := a.stream.GetLastMsgForSubject(ctx, a.at(job, n))
	if err = meaning(err); errors.Is(err, ErrNone) {
		return false, nil
	}
	return err == nil, err
}

// Get returns the answer of a number, or ErrNone.
func (a *Answers) Get(ctx context.Context, job string, n int) ([]byte, error) {
	msg, err := a.engine.read(ctx, a.stream, a.at(job, n))
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

// Drop removes all answers of a job.
func (a *Answers) Drop(ctx context.Context, job string) error {
	return meaning(errors.Join(
		a.stream.Purge(ctx, jetstream.WithPurgeSubject(a.subject+job+".*")),
		a.large.DeleteAll(ctx, job),
	))
}
