package queue

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// Files holds bytes of any length by name, in parts of PartSize. Writing or reading a file takes the memory of one
// part.
//
// The parts are messages of a stream. JetStream's object store cannot be read from the middle, leaves a marker for
// every deleted object, and buffers writes that are faster than the storage in memory.
type Files struct {
	engine  *Engine
	subject string // prefix of the subjects of all parts
	stream  jetstream.Stream

	mu     sync.Mutex
	recent []part // that Slice read last, oldest first
}

// part is a part of a file in memory.
type part struct {
	subject string
	data    []byte
}

// PartSize is the length of a part in bytes. By default a NATS server accepts messages up to 1 MiB.
const PartSize = 512 << 10

// recentParts is how many parts are cached.
const recentParts = 8

// NewFiles opens the files with a name. It creates their stream if it does not exist.
func NewFiles(ctx context.Context, e *Engine, name string) (*Files, error) {
	f := &Files{engine: e, subject: prefix + ".files." + name + "."}
	var err error
	f.stream, err = e.stream(ctx, jetstream.StreamConfig{
		Name:              prefix + "_files_" + name,
		Subjects:          []string{f.subject + ">"},
		MaxMsgsPerSubject: 1,
		MaxBytes:          e.streamBound(),
		Discard:           jetstream.DiscardNew,
		AllowDirect:       true,
	})
	return f, err
}

// Write stores the content of reader under a name and returns its length. A file must not be written again once others
// may read it. After an error, such as ErrFull, nothing is left of the file.
func (f *Files) Write(ctx context.Context, purpose Purpose, name string, reader io.Reader) (size int64, err error) {
	defer func() {
		if err != nil {
			_ = f.Delete(context.WithoutCancel(ctx), name) // a sweep finds what is left
		}
	}()
	part := make([]byte, PartSize)
	for n := 0; ; n++ {
		length, ended := io.ReadFull(reader, part)
		if ended != nil && ended != io.EOF && ended != io.ErrUnexpectedEOF {
			return size, ended
		}
		if length > 0 {
			if err := f.engine.publish(ctx, purpose, f.partSubject(name, n), part[:length]); err != nil {
				return size, err
			}
			size += int64(length)
		}
		if ended != nil {
			return size, nil
		}
	}
}

func (f *Files) partSubject(name string, n int) string {
	return f.subject + name + "." + strconv.Itoa(n)
}

// Delete deletes a file. It is idempotent.
func (f *Files) Delete(ctx context.Context, name string) error {
	return translate(f.stream.Purge(ctx, jetstream.WithPurgeSubject(f.subject+name+".*")))
}

// DeleteAll deletes all files whose names begin with name and a dot.
func (f *Files) DeleteAll(ctx context.Context, name string) error {
	return translate(f.stream.Purge(ctx, jetstream.WithPurgeSubject(f.subject+name+".>")))
}

// Names returns the names of the files that are not empty.
func (f *Files) Names(ctx context.Context) (names []string, err error) {
	info, err := f.stream.Info(ctx, jetstream.WithSubjectFilter(f.subject+">"))
	if err != nil {
		return nil, translate(err)
	}
	for subject := range info.State.Subjects {
		names = append(names, strings.TrimPrefix(subject[:strings.LastIndexByte(subject, '.')], f.subject))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Slice returns length bytes of a file from an offset on, or ErrNone if the file is shorter.
func (f *Files) Slice(ctx context.Context, name string, offset int64, length int) ([]byte, error) {
	slice := make([]byte, 0, length)
	for len(slice) < length {
		at := offset + int64(len(slice))
		part, err := f.cachedPart(ctx, name, int(at/PartSize))
		if err != nil {
			return nil, err
		}
		from := int(at % PartSize)
		if from >= len(part) {
			return nil, fmt.Errorf("%s ends before byte %d: %w", name, offset+int64(length), ErrNone)
		}
		slice = append(slice, part[from:min(len(part), from+length-len(slice))]...)
	}
	return slice, nil
}

// cachedPart returns a part, which the caller must not change.
func (f *Files) cachedPart(ctx context.Context, name string, n int) ([]byte, error) {
	subject := f.partSubject(name, n)
	f.mu.Lock()
	at := slices.IndexFunc(f.recent, func(p part) bool { return p.subject == subject })
	if at >= 0 {
		defer f.mu.Unlock()
		return f.recent[at].data, nil
	}
	f.mu.Unlock()
	msg, err := f.engine.read(ctx, f.stream, subject)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent = append(f.recent, part{subject, msg.Data})
	f.recent = f.recent[max(0, len(f.recent)-recentParts):]
	return msg.Data, nil
}

// Open returns a reader of a file of size bytes, which reads one part at a time.
func (f *Files) Open(ctx context.Context, name string, size int64) io.Reader {
	return &fileReader{ctx: ctx, files: f, name: name, left: size}
}

type fileReader struct {
	ctx   context.Context
	files *Files
	name  string
	next  int    // number of the next part
	left  int64  // bytes in the next parts
	part  []byte // the unread bytes of the current part
}

func (r *fileReader) Read(p []byte) (int, error) {
	if len(r.part) == 0 {
		if r.left <= 0 {
			return 0, io.EOF
		}
		msg, err := r.files.engine.read(r.ctx, r.files.stream, r.files.partSubject(r.name, r.next))
		if err != nil {
			return 0, fmt.Errorf("%s, part %d: %w", r.name, r.next, err)
		}
		r.part = msg.Data
		r.left -= int64(len(msg.Data))
		r.next++
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}
