// Package corestest occupies the slots of package cores in tests.
package corestest

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"retort/chem/cores"
)

// TakeAll takes all slots until free is called.
func TakeAll(t *testing.T) (free func()) {
	t.Helper()
	var running, ended sync.WaitGroup
	released := make(chan struct{})
	for range runtime.GOMAXPROCS(0) {
		running.Add(1)
		ended.Go(func() {
			_, err := cores.Run(t.Context(), func(context.Context) (struct{}, error) {
				running.Done()
				<-released
				return struct{}{}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	return func() {
		close(released)
		ended.Wait()
	}
}
