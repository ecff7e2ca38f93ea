package queue

import (
	"context"
	"errors"
	"fmt"
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

// embeddedServer is a NATS server in this process that nothing outside of it can reach.
type embeddedServer struct {
	server *server.Server
	folder string
	logger zerolog.Logger

	stalled atomic.Pointer[string] // why a stream takes no writes until JetStream restarts; nil: none is stalled
	stop    func()                 // stops the server; may be called more than once

	mu          sync.Mutex                  // held by restartIfStalled
	lost        map[string]bool             // streams that failed at the last start: another restart would not help
	backOff     *backoff.ExponentialBackOff // between restarts
	nextRestart time.Time
}

// Bounds of the embedded server.
const (
	maxMemory    = 64 << 20         // for streams in memory; there are none
	maxStore     = int64(1) << 50   // none: see Engine.reserve
	syncInterval = 10 * time.Second // writes that a power failure may lose; a killed process loses none
	startTimeout = time.Minute      // the server reads the indexes of all files
)

// startEmbedded starts a server on a folder, which it locks.
func startEmbedded(folder string, logger zerolog.Logger) (*embeddedServer, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	e := &embeddedServer{folder: folder, logger: logger}
	e.server, err = server.NewServer(&server.Options{
		ServerName:         "retort",
		DontListen:         true,
		NoSigs:             true,
		NoSystemAccount:    true,
		JetStream:          true,
		StoreDir:           folder,
		JetStreamMaxMemory: maxMemory,
		JetStreamMaxStore:  maxStore,
		SyncInterval:       syncInterval,
	})
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	e.stop = sync.OnceFunc(func() {
		end()
		e.server.Shutdown()
		e.server.WaitForShutdown()
		_ = lock.Close()
	})
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
	e.backOff = backoff.NewExponentialBackOff()
	e.backOff.InitialInterval = healthInterval
	e.backOff.MaxInterval = maxRestartPause
	e.noteLost()
	go Every(life, healthInterval, e.restartIfStalled)
	return e, nil
}

// lockFile locks a file for this process. The system unlocks it when the process ends, however it does.
func lockFile(path string) (*os.File, error) {
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

func (e *embeddedServer) ready() error {
	if !e.server.JetStreamEnabled() {
		return fmt.Errorf("%w: JetStream has stopped until there is room again", ErrFull)
	}
	if reason := e.stalled.Load(); reason != nil {
		return errors.New(*reason)
	}
	return nil
}

const (
	// healthInterval is how often JetStream's health is checked, and the first pause between restarts.
	healthInterval = time.Second
	// maxRestartPause is the longest pause between restarts, on average, while streams keep stalling.
	maxRestartPause = time.Minute
)

// restartIfStalled restarts JetStream if it has stopped or a stream is stalled. It waits until the disk has room and
// the pause since the last restart is over.
func (e *embeddedServer) restartIfStalled() {
	e.mu.Lock()
	defer e.mu.Unlock()
	reason := e.updateStalled()
	e.stalled.Store(reason)
	now := time.Now()
	if e.server.JetStreamEnabled() && reason == nil {
		if now.Sub(e.nextRestart) > maxRestartPause {
			e.backOff.Reset()
		}
		return
	}
	if !e.disk().hasRoom() || now.Before(e.nextRestart) {
		return
	}
	e.nextRestart = now.Add(e.backOff.NextBackOff())
	e.restart(reason)
	e.noteLost()
	e.stalled.Store(nil)
}

// updateStalled returns why a stream is stalled, nil if none is, and removes streams that work again from the lost
// ones. A stream whose write has failed does not answer writers, which only the server's health shows.
func (e *embeddedServer) updateStalled() (stalled *string) {
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

// noteLost sets the lost streams: those that do not work right after a start.
func (e *embeddedServer) noteLost() {
	e.lost = map[string]bool{}
	for _, problem := range e.problems() {
		e.lost[problem.Stream] = true
		e.logger.Error().Str("stream", problem.Stream).Str("reason", problem.Error).Msg("a stream of JetStream is lost")
	}
}

// problems returns the server's health errors about streams.
func (e *embeddedServer) problems() []server.HealthzError {
	health := e.server.Healthz(&server.HealthzOptions{Details: true})
	return slices.DeleteFunc(health.Errors, func(problem server.HealthzError) bool {
		return problem.Type != server.HealthzErrorStream
	})
}

func (e *embeddedServer) restart(reason *string) {
	if e.server.JetStreamEnabled() {
		e.logger.Warn().Str("reason", *reason).Msg("restarting JetStream")
		if err := e.server.DisableJetStream(); err != nil {
			e.logger.Error().Err(err).Msg("JetStream does not stop")
		}
	}
	config := &server.JetStreamConfig{
		MaxMemory: maxMemory, MaxStore: maxStore, StoreDir: e.folder, SyncInterval: syncInterval,
	}
	if err := e.server.EnableJetStream(config); err != nil {
		e.logger.Error().Err(err).Msg("JetStream does not start again")
	}
}

func (e *embeddedServer) disk() diskSpace {
	var stat unix.Statfs_t
	if unix.Statfs(e.folder, &stat) != nil {
		return unknownDisk
	}
	return diskSpace{size: int64(stat.Blocks) * int64(stat.Bsize), free: int64(stat.Bavail) * int64(stat.Bsize)}
}

// serverLog writes the embedded server's log into this program's.
type serverLog struct{ logger zerolog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.logger.Debug().Msgf(format, v...) }
func (l serverLog) Warnf(format string, v ...any)   { l.logger.Warn().Msgf(format, v...) }
func (l serverLog) Errorf(format string, v ...any)  { l.logger.Error().Msgf(format, v...) }
func (l serverLog) Fatalf(format string, v ...any)  { l.logger.Error().Msgf(format, v...) }
func (l serverLog) Debugf(format string, v ...any)  { l.logger.Trace().Msgf(format, v...) }
func (l serverLog) Tracef(format string, v ...any)  { l.logger.Trace().Msgf(format, v...) }
