package responses

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/memory"
)

// Config are the settings of stored responses.
type Config struct {
	Keep       time.Duration `name:"keep-responses" default:"720h" help:"How long responses of /v1/responses are kept. 0: none are stored."`
	Most       int           `name:"most-responses" default:"10000" help:"Most responses kept for one key, or in all without keys; the oldest are deleted to make room."`
	Background int           `name:"background-responses" default:"4" help:"Background responses that this gateway runs at once."`
}

// maxTurns bounds the turns of a chain, each of which is read for the next one.
const maxTurns = 256

// Program connects the service with the program around it.
type Program struct {
	// MaxBytes bounds the contents of a chain: what a client could send as one request.
	MaxBytes int64
	Memory   *memory.Budget
	Logger   zerolog.Logger
	// Send sends the request of a background response to the chat API. The reply has its status and body.
	Send func(ctx context.Context, caller string, body []byte) (status int, reply []byte)
	// Finish returns the content of a background response at its end, made from the one at its start and a reply. The
	// status is 0 for a response that was cancelled.
	Finish func(start []byte, status int, reply []byte) ([]byte, error)
}

// Service keeps responses.
type Service struct {
	config  Config
	program Program
	storage jobs.Storage[stores]
}

// stores are the stores of responses. Files are named after the key of their record.
type stores struct {
	engine  *queue.Engine
	records *queue.Table[record]
	index   *queue.Index[record, record]
	files   *queue.Files
	tasks   *queue.Tasks
}

// New returns the service. It answers "not ready" until Begin has opened its stores.
func New(config Config, program Program) *Service {
	return &Service{
		config: config, program: program,
		storage: jobs.Storage[stores]{Content: "responses", FullHint: ". Delete some, or send store false."},
	}
}

// Connect sets what the program around it can set only once its APIs are open. It must be called before Begin.
func (s *Service) Connect(
	send func(ctx context.Context, caller string, body []byte) (int, []byte),
	finish func(start []byte, status int, reply []byte) ([]byte, error),
) {
	s.program.Send = send
	s.program.Finish = finish
}

// Begin opens the stores and starts the workers, which end with ctx. ended is done when they have.
func (s *Service) Begin(ctx context.Context, e *queue.Engine, ended *sync.WaitGroup) error {
	st := &stores{engine: e}
	err := jobs.OpenStores(ctx, e,
		jobs.OpenInto(&st.records, queue.NewTable[record], "responses"),
		jobs.OpenInto(&st.files, queue.NewFiles, "responses"),
		jobs.OpenInto(&st.tasks, queue.NewTasks, "responses"),
	)
	if err != nil {
		return err
	}
	st.index = queue.NewIndex(st.records, func(r record) record { return r })
	s.storage.Set(e, st)
	ended.Go(func() {
		st.tasks.Work(ctx, s.config.Background, func(ctx context.Context, t queue.Task) error {
			return s.work(ctx, st, t)
		})
	})
	ended.Go(func() {
		jobs.SweepEvery(ctx, sweepInterval, "responses", s.program.Logger,
			func(ctx context.Context) error { return st.sweep(ctx) },
			func(ctx context.Context) error { return st.dropOrphans(ctx) })
	})
	return nil
}

// Ready returns nil while responses can be stored.
func (s *Service) Ready() error { return s.storage.Ready() }

// fault converts an error of the engine to a fault: queue.ErrNone means that the response with an id does not exist.
func (s *Service) fault(err error, id string) error {
	if errors.Is(err, queue.ErrNone) {
		return fault.Missing(fault.Response, "Response with id '%s' not found.", fault.Clip(id))
	}
	return s.storage.Fault(err)
}

// Save stores the content of a response of a caller. previous is the id of the response that it continues, or "".
func (s *Service) Save(ctx context.Context, caller, id, previous string, content []byte) error {
	_, err := s.save(ctx, caller, record{ID: id, Previous: previous, Size: int64(len(content))}, content, nil)
	if err != nil && ctx.Err() == nil {
		s.program.Logger.Warn().Err(err).Str("response", id).Msg("a response is not stored")
	}
	return err
}

// save completes a record and stores it with its content and, for a background response, its request.
func (s *Service) save(ctx context.Context, caller string, r record, content, request []byte) (record, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return r, err
	}
	r.Owner = jobs.Owner(caller)
	r.CreatedAt = now()
	r.ExpiresAt = r.CreatedAt + int64(s.config.Keep/time.Second)
	r.Turns = 1
	r.ChainBytes = r.Size
	if r.Previous != "" {
		previous, err := st.find(ctx, caller, r.Previous)
		if err != nil {
			return r, s.fault(err, r.Previous)
		}
		r.Turns += previous.Turns
		r.ChainBytes += previous.ChainBytes
	}
	if err := s.makeRoom(ctx, st, r); err != nil {
		return r, s.storage.Fault(err)
	}
	return r, s.storage.Fault(st.write(ctx, r, content, request))
}

// write stores a record after its files. After an error nothing is left.
func (st *stores) write(ctx context.Context, r record, content, request []byte) error {
	_, err := st.files.Write(ctx, queue.Input, r.contentName(), bytes.NewReader(content))
	if err == nil && len(request) > 0 {
		_, err = st.files.Write(ctx, queue.Input, r.requestName(), bytes.NewReader(request))
	}
	if err == nil {
		err = st.records.Create(ctx, r.key(), r)
	}
	if err != nil {
		_ = st.files.DeleteAll(context.WithoutCancel(ctx), r.key()) // a sweep finds what is left
	}
	return err
}

// makeRoom deletes the oldest responses of an owner until one more fits into the owner's quota. Those that have not
// ended stay, and so does the one that the new one continues.
func (s *Service) makeRoom(ctx context.Context, st *stores, added record) error {
	limit := st.engine.OwnerLimit()
	if added.storedBytes() > limit {
		return fault.New(fault.TooMany, "The response takes %d bytes, more than the %d of all responses of a key.",
			added.storedBytes(), limit)
	}
	stored, err := st.index.Records(ctx, added.Owner)
	if err != nil {
		return err
	}
	count := len(stored) + 1
	size := added.storedBytes()
	hasUnfinished := false
	var ended []record
	for _, r := range stored {
		size += r.storedBytes()
		hasUnfinished = hasUnfinished || r.Status != Ended
		if r.Status == Ended && r.ID != added.Previous {
			ended = append(ended, r)
		}
	}
	if count <= s.config.Most && size <= limit {
		return nil
	}
	slices.SortFunc(ended, func(a, b record) int { return cmp.Compare(a.ID, b.ID) }) // by age
	for _, r := range ended {
		if count <= s.config.Most && size <= limit {
			return nil
		}
		if err := st.drop(ctx, r); err != nil {
			return err
		}
		count--
		size -= r.storedBytes()
	}
	switch {
	case count <= s.config.Most && size <= limit:
		return nil
	case !hasUnfinished: // waiting does not help
		return fault.New(fault.TooMany,
			"The response and the one that it continues are %d and take %d bytes; a key may have %d of %d bytes.",
			count, size, s.config.Most, limit)
	default:
		return &fault.Error{
			Kind: fault.TooMany, RetryAfter: sweepInterval,
			Message: "The background responses of this key that have not ended leave no room for another response.",
		}
	}
}

// drop deletes a response, its record first: a sweep finds files without a record.
func (st *stores) drop(ctx context.Context, r record) error {
	if err := st.records.Delete(ctx, r.key()); err != nil {
		return err
	}
	return st.files.DeleteAll(ctx, r.key())
}

// find returns the record of a caller's response, or queue.ErrNone.
func (st *stores) find(ctx context.Context, caller, id string) (record, error) {
	r, err := jobs.Find(ctx, st.records, caller, id)
	if err == nil && r.isExpired() {
		err = queue.ErrNone
	}
	return r, err
}

const (
	// bodyWeight is the memory that a byte of content takes until its request has been answered, as
	// memory.BodyWeight.
	bodyWeight = 4
	// smallContent is how many bytes need no memory of the budget, so that small requests never wait for large ones.
	smallContent = 64 << 10
)

// Reserve takes memory for the contents of size bytes until release is called.
func (s *Service) Reserve(ctx context.Context, size int64) (release func(), err error) {
	if size <= smallContent {
		return func() {}, nil
	}
	return s.program.Memory.Acquire(ctx, bodyWeight*size)
}

// Load returns the content of a caller's response and its status, "" for one that has ended. release frees the memory of
// the content.
func (s *Service) Load(ctx context.Context, caller, id string) (
	content []byte, status string, release func(), err error,
) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	r, err := st.find(ctx, caller, id)
	if err != nil {
		return nil, "", nil, s.fault(err, id)
	}
	if release, err = s.Reserve(ctx, r.Size); err != nil {
		return nil, "", nil, err
	}
	if content, r, err = st.readLatest(ctx, r); err != nil {
		release()
		return nil, "", nil, s.fault(err, id)
	}
	return content, string(r.Status), release, nil
}

// LoadChain returns the contents of a caller's response and of those before it, the oldest first. release frees their
// memory.
func (s *Service) LoadChain(ctx context.Context, caller, id string) (chain [][]byte, release func(), err error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := st.find(ctx, caller, id)
	if err != nil {
		return nil, nil, s.fault(err, id)
	}
	if release, err = s.Reserve(ctx, r.ChainBytes); err != nil {
		return nil, nil, err
	}
	for {
		var content []byte
		content, r, err = st.readLatest(ctx, r)
		if err == nil {
			chain = append(chain, content)
			if r.Previous == "" {
				break
			}
			id = r.Previous
			r, err = st.find(ctx, caller, id)
		}
		if err != nil {
			release()
			return nil, nil, s.fault(err, id)
		}
	}
	slices.Reverse(chain)
	return chain, release, nil
}

// CheckContinuable returns an Invalid fault if a caller's response cannot be continued, because it has not ended or its
// chain is too long.
func (s *Service) CheckContinuable(ctx context.Context, caller, id string) error {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return err
	}
	r, err := st.find(ctx, caller, id)
	switch {
	case err != nil:
		return s.fault(err, id)
	case r.Status != Ended:
		return fault.New(fault.Invalid, "The response '%s' has not ended: it is %s.", id, r.Status)
	case r.Turns >= maxTurns:
		return fault.New(fault.Invalid,
			"The conversation has %d responses, the most that can be continued: send it as input.", r.Turns)
	case r.ChainBytes > s.program.MaxBytes:
		return fault.New(fault.Invalid, "The conversation has %d bytes, %d can be continued: send a part of it as input.",
			r.ChainBytes, s.program.MaxBytes)
	}
	return nil
}

func (st *stores) read(ctx context.Context, r record) ([]byte, error) {
	content := make([]byte, r.Size)
	_, err := io.ReadFull(st.files.Open(ctx, r.contentName(), r.Size), content)
	return content, err
}

// readLatest returns the content of a record. If the response has ended since the record was read, it returns the
// content of the end and the new record.
func (st *stores) readLatest(ctx context.Context, r record) ([]byte, record, error) {
	content, err := st.read(ctx, r)
	if r.Status == Ended || !errors.Is(err, queue.ErrNone) {
		return content, r, err
	}
	if r, err = st.records.Get(ctx, r.key()); err == nil {
		content, err = st.read(ctx, r)
	}
	return content, r, err
}

// Delete deletes a caller's response. A background response that has not ended is cancelled.
func (s *Service) Delete(ctx context.Context, caller, id string) error {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return err
	}
	r, err := st.find(ctx, caller, id)
	if err == nil {
		err = st.drop(ctx, r)
	}
	return s.fault(err, id)
}

const sweepInterval = time.Minute

// sweep deletes the responses that have expired, and queues a task for every background response that has not ended, in
// case its task was lost. It continues after an error and returns the last one.
func (st *stores) sweep(ctx context.Context) error {
	records, err := st.index.Records(ctx, "")
	if err != nil {
		return err
	}
	var failure error
	for key, r := range records {
		switch {
		case r.isExpired():
			failure = cmp.Or(st.drop(ctx, r), failure)
		case r.Status != Ended:
			failure = cmp.Or(st.tasks.Push(ctx, queue.Work, key, nil), failure) // no effect while that task exists
		}
	}
	return failure
}

// dropOrphans deletes files whose response was never recorded, or was deleted while a worker wrote its end.
func (st *stores) dropOrphans(ctx context.Context) error {
	return jobs.DropOrphans(ctx, st.files, st.records, clock().Add(-jobs.OrphanGrace), func(name string) string {
		_, file, _ := strings.Cut(name, ".") // owner.id.end
		id, _, _ := strings.Cut(file, ".")
		return id
	})
}
