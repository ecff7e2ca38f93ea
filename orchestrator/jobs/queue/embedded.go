package queue

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// embedded is a NATS server within this process that nothing outside of it can reach.
type embedded struct {
	server  *server.Server
	folder  string
	options *server.Options
	lock    *os.File
	logger  zerolog.Logger

	stalled atomic.Pointer[string] // why a stream takes no writes until JetStream restarts; nil: none is stalled
	ended   chan struct{}
	once    sync.Once

	mu          sync.Mutex      // held by restartIfStalled
	lost        map[string]bool // streams that failed at the last start: another one would not help
	pauses      *backoff.ExponentialBackOff
	nextRestart time.Time
}

// Bounds of the embedded server.
const (
	maxMemory    = 64 << 20         // of streams in memory, of which there are none
	maxStore     = int64(1) << 50   // streams have bounds of their own
	syncInterval = 10 * time.Second // how much a loss of power may lose; a killed process loses nothing
	startTimeout = time.Minute      // indexes of many files are read
)

// startEmbedded starts a server on a folder, which it holds alone.
func startEmbedded(folder string, logger zerolog.Logger) (*embedded, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := hold(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	e := &embedded{folder: folder, lock: lock, logger: logger, ended: make(chan struct{})}
	e.options = &server.Options{
		ServerName:         "retort",
		DontListen:         true,
		NoSigs:             true,
		NoSystemAccount:    true,
		JetStream:          true,
		StoreDir:           folder,
		JetStreamMaxMemory: maxMemory,
		JetStreamMaxStore:  maxStore,
		SyncInterval:       syncInterval,
	}
	if e.server, err = server.NewServer(e.options); err != nil {
		_ = lock.Close()
		return nil, err
	}
	e.server.SetLoggerV2(serverLog{logger}, false, false, false)
	e.server.Start()
	if !e.server.ReadyForConnections(startTimeout) {
		e.stop()
		return nil, errors.New("the embedded NATS server did not start")
	}
	if !e.server.JetStreamEnabled() {
		e.stop()
		return nil, fmt.Errorf("JetStream could not use %s", folder)
	}
	e.pauses = backoff.NewExponentialBackOff()
	e.pauses.InitialInterval = healthInterval
	e.pauses.MaxInterval = maxRestartPause
	e.noteLost()
	go e.watch()
	return e, nil
}

// hold locks a file for this process; the system frees it when the process ends, however it does.
func hold(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, errors.New("another retort uses it")
	}
	return file, nil
}

func (e *embedded) stop() {
	e.once.Do(func() {
		close(e.ended)
		e.server.Shutdown()
		e.server.WaitForShutdown()
		_ = e.lock.Close()
	})
}

func (e *embedded) ready() error {
	if !e.server.JetStreamEnabled() {
		return fmt.Errorf("%w: JetStream has stopped until there is room again", ErrFull)
	}
	if reason := e.stalled.Load(); reason != nil {
		return errors.New(*reason)
	}
	return nil
}

const (
	// healthInterval is how often JetStream's health is checked, and so how often it may be restarted at most.
	healthInterval = time.Second
	// maxRestartPause is the longest average pause between restarts while streams stall again and again.
	maxRestartPause = time.Minute
)

// watch checks JetStream's health until the server is stopped.
func (e *embedded) watch() {
	every := time.NewTicker(healthInterval)
	defer every.Stop()
	for {
		select {
		case <-e.ended:
			return
		case <-every.C:
			e.restartIfStalled()
		}
	}
}

// restartIfStalled restarts JetStream if it has stopped or a stream is stalled, once the disk has room and the pause since
// the last restart is over.
func (e *embedded) restartIfStalled() {
	e.mu.Lock()
	defer e.mu.Unlock()
	reason := e.checkStreams()
	e.stalled.Store(reason)
	now := time.Now()
	if e.server.JetStreamEnabled() && reason == nil {
		if now.Sub(e.nextRestart) > maxRestartPause {
			e.pauses.Reset()
		}
		return
	}
	if !e.hasRoom() || now.Before(e.nextRestart) {
		return
	}
	e.nextRestart = now.Add(e.pauses.NextBackOff())
	e.restart(reason)
	e.noteLost()
	e.stalled.Store(nil)
}

// checkStreams returns why a stream is stalled, nil if none is, and forgets lost streams that work again. A stream whose
// write has failed answers no writer any more, which shows only in the server's health.
func (e *embedded) checkStreams() (stalled *string) {
	lost := map[string]bool{}
	for _, problem := range e.problems() {
		switch {
		case e.lost[problem.Stream]:
			lost[problem.Stream] = true
		case stalled == nil:
			stalled = &problem.Error
		}
	}
	e.lost = lost
	return stalled
}

// noteLost notes the streams that do not work right after a start as lost.
func (e *embedded) noteLost() {
	e.lost = map[string]bool{}
	for _, problem := range e.problems() {
		e.lost[problem.Stream] = true
		e.logger.Error().Str("stream", problem.Stream).Str("reason", problem.Error).Msg("a stream of JetStream is lost")
	}
}

// problems returns the streams that the server's health has errors of.
func (e *embedded) problems() []server.HealthzError {
	return slices.DeleteFunc(e.server.Healthz(&server.HealthzOptions{Details: true}).Errors, func(problem server.HealthzError) bool {
		return problem.Type != server.HealthzErrorStream
	})
}

func (e *embedded) restart(reason *string) {
	if e.server.JetStreamEnabled() {
		e.logger.Warn().Str("reason", *reason).Msg("restarting JetStream")
		if err := e.server.DisableJetStream(); err != nil {
			e.logger.Error().Err(err).Msg("JetStream does not stop")
		}
	}
	config := &server.JetStreamConfig{MaxMemory: maxMemory, MaxStore: maxStore, StoreDir: e.folder, SyncInterval: syncInterval}
	if err := e.server.EnableJetStream(config); err != nil {
		e.logger.Error().Err(err).Msg("JetStream does not start again")
	}
}

// What must stay free on the disk, so that records can be written and what is there can be ended: a 20th of it, but
// no more than keep bytes.
const (
	keepShare = 20
	keep      = 256 << 20
)

// hasRoom reports whether the disk has more than that.
func (e *embedded) hasRoom() bool {
	size, free := e.disk()
	return free > min(size/keepShare, keep)
}

// disk returns the size of the disk and its free bytes. If they are unknown it returns huge numbers: a full disk then shows
// when it is written to.
func (e *embedded) disk() (size, free int64) {
	var disk unix.Statfs_t
	if unix.Statfs(e.folder, &disk) != nil {
		return math.MaxInt64 / 2, math.MaxInt64 / 2
	}
	return int64(disk.Blocks) * int64(disk.Bsize), int64(disk.Bavail) * int64(disk.Bsize)
}

// serverLog writes what the embedded server says into this program's log.
type serverLog struct{ logger zerolog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.logger.Debug().Msgf(format, v...) }
func (l serverLog) Warnf(format string, v ...any)   { l.logger.Warn().Msgf(format, v...) }
func (l serverLog) Errorf(format string, v ...any)  { l.logger.Error().Msgf(format, v...) }
func (l serverLog) Fatalf(format string, v ...any)  { l.logger.Error().Msgf(format, v...) }
func (l serverLog) Debugf(format string, v ...any)  { l.logger.Trace().Msgf(format, v...) }
func (l serverLog) Tracef(format string, v ...any)  { l.logger.Trace().Msgf(format, v...) }
