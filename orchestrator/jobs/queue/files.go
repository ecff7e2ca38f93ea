package queue

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// Files holds bytes of any length by name, in parts of PartSize. It takes no more memory than a part for each file that
// is written or read.
//
// They lie in a stream of their own and not in JetStream's object store, which cannot be read from the middle, leaves
// a trace of everything that was deleted, and takes what is written faster than it is stored into memory.
type Files struct {
	engine  *Engine
	subject string // begins the subjects of its parts
	stream  jetstream.Stream

	mu     sync.Mutex
	recent map[string][]byte // the last parts that were read, for readers of small slices
	order  []string
}

// PartSize is the length of a part in bytes. A server of NATS takes messages of 1 MiB unless it is told otherwise.
const PartSize = 512 << 10

// recentParts is how many parts are remembered.
const recentParts = 8

// NewFiles returns the files of a name.
func NewFiles(ctx context.Context, e *Engine, name string) (*Files, error) {
	f := &Files{engine: e, subject: prefix + ".files." + name + ".", recent: map[string][]byte{}}
	var err error
	f.stream, err = e.stream(ctx, jetstream.StreamConfig{
		Name:              prefix + "_files_" + name,
		Subjects:          []string{f.subject + ">"},
		MaxMsgsPerSubject: 1,
		MaxBytes:          e.maxBytes(),
		Discard:           jetstream.DiscardNew,
		AllowDirect:       true,
	})
	return f, err
}

// Write stores what reader has under a name, which must not change once others may read it, and returns
// its length. After an error nothing is left of it. ErrFull is a storage without room.
func (f *Files) Write(ctx context.Context, use Use, name string, reader io.Reader) (size int64, err error) {
	defer func() {
		if err != nil {
			_ = f.Delete(context.WithoutCancel(ctx), name) // the next sweep finds what is left
		}
	}()
	part := make([]byte, PartSize)
	for n := 0; ; n++ {
		length, ended := io.ReadFull(reader, part)
		if ended != nil && ended != io.EOF && ended != io.ErrUnexpectedEOF {
			return size, ended
		}
		if length > 0 {
			if err := f.put(ctx, use, name, n, part[:length]); err != nil {
				return size, err
			}
			size += int64(length)
		}
		if ended != nil {
			return size, nil
		}
	}
}

func (f *Files) put(ctx context.Context, use Use, name string, n int, part []byte) error {
	return f.engine.publish(ctx, use, message(f.part(name, n), part))
}

func (f *Files) part(name string, n int) string { return f.subject + name + "." + strconv.Itoa(n) }

// Delete removes a file. One that is not there is no error.
func (f *Files) Delete(ctx context.Context, name string) error {
	return meaning(f.stream.Purge(ctx, jetstream.WithPurgeSubject(f.subject+name+".*")))
}

// DeleteAll removes all files whose names begin with a name and a dot.
func (f *Files) DeleteAll(ctx context.Context, name string) error {
	return meaning(f.stream.Purge(ctx, jetstream.WithPurgeSubject(f.subject+name+".>")))
}

// Names lists the files that have at least one part, in no certain order.
func (f *Files) Names(ctx context.Context) (names []string, err error) {
	info, err := f.stream.Info(ctx, jetstream.WithSubjectFilter(f.subject+">"))
	if err != nil {
		return nil, meaning(err)
	}
	seen := map[string]bool{}
	for subject := range info.State.Subjects {
		name := strings.TrimPrefix(subject[:strings.LastIndexByte(subject, '.')], f.subject)
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// Slice returns length bytes of a file from an offset on, all of which must be there.
func (f *Files) Slice(ctx context.Context, name string, offset int64, length int) ([]byte, error) {
	slice := make([]byte, 0, length)
	for len(slice) < length {
		at := offset + int64(len(slice))
		part, err := f.read(ctx, name, int(at/PartSize))
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

// read returns one part, which is not to be changed.
func (f *Files) read(ctx context.Context, name string, n int) ([]byte, error) {
	key := f.part(name, n)
	f.mu.Lock()
	part, known := f.recent[key]
	f.mu.Unlock()
	if known {
		return part, nil
	}
	msg, err := f.engine.read(ctx, f.stream, key)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.recent[key]; !known {
		if len(f.order) == recentParts {
			delete(f.recent, f.order[0])
			f.order = f.order[1:]
		}
		f.recent[key] = msg.Data
		f.order = append(f.order, key)
	}
	return msg.Data, nil
}

// Open returns a reader of the whole file of a size. It reads a part at a time.
func (f *Files) Open(ctx context.Context, name string, size int64) io.Reader {
	return &fileReader{ctx: ctx, files: f, name: name, left: size}
}

type fileReader struct {
	ctx   context.Context
	files *Files
	name  string
	next  int   // part to be read
	left  int64 // bytes that have not been read from the engine
	part  []byte
}

func (r *fileReader) Read(into []byte) (int, error) {
	if len(r.part) == 0 {
		if r.left <= 0 {
			return 0, io.EOF
		}
		msg, err := r.files.engine.read(r.ctx, r.files.stream, r.files.part(r.name, r.next))
		if err != nil {
			return 0, fmt.Errorf("%s, part %d: %w", r.name, r.next, err)
		}
		r.part = msg.Data
		r.left -= int64(len(msg.Data))
		r.next++
	}
	n := copy(into, r.part)
	r.part = r.part[n:]
	return n, nil
}
