package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
)

// follow is the process of the gateways: it starts them and answers questions about all of them together.
func follow(count, models int) error {
	questions := json.NewDecoder(os.Stdin)
	var addresses []string
	if err := questions.Decode(&addresses); err != nil {
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
	is := map[string]func(*discovery.Snapshot) bool{
		"ready": func(s *discovery.Snapshot) bool { return len(s.Models) == models },
		"version": func(s *discovery.Snapshot) bool {
			m, ok := s.Model(changed)
			return ok && m.Version() == "2"
		},
		"configuration": reconfigured,
		"usage":         func(*discovery.Snapshot) bool { return true },
	}
	for {
		var question string
		if err := questions.Decode(&question); err != nil {
			return nil // the end of the other process
		}
		for _, r := range registries {
			for !is[question](r.Snapshot()) {
				time.Sleep(10 * time.Millisecond)
			}
		}
		used, err := used()
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(used); err != nil {
			return err
		}
	}
}

// reconfigured reports whether the new configuration of every model is known.
func reconfigured(s *discovery.Snapshot) bool {
	for _, m := range s.Models {
		if m.Config.MaxQueueDelay == nil || *m.Config.MaxQueueDelay != 200*time.Microsecond {
			return false
		}
	}
	return true
}

// used is what this process has used so far.
func used() (u usage, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return u, err
	}
	u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return u, err
	}
	u.Resident = kib * 1024
	return u, nil
}
