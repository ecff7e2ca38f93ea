package main

import (
	"encoding/json"
	"os"
	"syscall"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	"retort/scripts/bench/comparison"
)

// follow runs in the process of the gateways. It starts them and then reads the names of conditions: as soon as all
// gateways meet one, it answers with what the process has used.
func follow(count, models int) error {
	input := json.NewDecoder(os.Stdin)
	var addresses []string
	if err := input.Decode(&addresses); err != nil {
		return err
	}
	registries := make([]*discovery.Registry, count)
	for i := range registries {
		client, err := triton.Dial(triton.Config{URLs: addresses})
		if err != nil {
			return err
		}
		registries[i] = discovery.NewRegistry(client, discovery.Config{})
	}
	conditions := map[string]func(*discovery.Snapshot) bool{
		"ready": func(s *discovery.Snapshot) bool { return len(s.Models) == models },
		"version": func(s *discovery.Snapshot) bool {
			m, ok := s.Model(updatedModel)
			return ok && m.Version() == "2"
		},
		"configuration": isReconfigured,
		"none":          func(*discovery.Snapshot) bool { return true },
	}
	for {
		var name string
		if err := input.Decode(&name); err != nil {
			return nil // the other process has ended
		}
		for _, r := range registries {
			for !conditions[name](r.Snapshot()) {
				time.Sleep(10 * time.Millisecond)
			}
		}
		used, err := readUsage()
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(used); err != nil {
			return err
		}
	}
}

// isReconfigured reports whether a gateway knows the new configuration of every model.
func isReconfigured(s *discovery.Snapshot) bool {
	for _, m := range s.Models {
		if m.Config.MaxQueueDelay == nil || *m.Config.MaxQueueDelay != nextDelay*time.Microsecond {
			return false
		}
	}
	return true
}

// readUsage returns what this process has used so far.
func readUsage() (u usage, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return u, err
	}
	u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
	u.Resident, err = comparison.Resident(os.Getpid())
	return u, err
}
