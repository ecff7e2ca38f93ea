package comparison

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc: USER_HZ, 100 on every Linux that Go runs on (proc(5)).
const tick = 10 * time.Millisecond

// Processes are the roots of process trees, as ids. Their processor time shows what a side costs; a busy machine
// distorts it less than the throughput.
type Processes []int

// Known returns the ids without those that are not known (0).
func Known(all ...int) (known Processes) {
	for _, pid := range all {
		if pid > 0 {
			known = append(known, pid)
		}
	}
	return known
}

// Used returns the processor time that the trees have used so far.
func (p Processes) Used() time.Duration {
	parents, times := readProcesses()
	var sum time.Duration
	for pid := range times {
		if p.include(pid, parents) {
			sum += times[pid]
		}
	}
	return sum
}

// include reports whether a process is one of the roots or descends from one.
func (p Processes) include(pid int, parents map[int]int) bool {
	for ; pid > 1; pid = parents[pid] {
		if slices.Contains(p, pid) {
			return true
		}
	}
	return false
}

// readProcesses returns the parent and the processor time of each process.
func readProcesses() (parents map[int]int, times map[int]time.Duration) {
	parents = map[int]int{}
	times = map[int]time.Duration{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // fails only for a broken pattern
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		// A name may contain spaces and parentheses; its last parenthesis is followed by state, parent, …
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parents[pid], _ = strconv.Atoi(f[1])
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		times[pid] = time.Duration(user+system) * tick
	}
	return parents, times
}

// machine returns the processor time of all cores so far, used by any program and available. Time that a hypervisor
// took counts as used.
func machine() (busy, available time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:9] { // user nice system idle iowait irq softirq steal
		n, _ := strconv.Atoi(field)
		available += time.Duration(n) * tick
		if i != 3 && i != 4 {
			busy += time.Duration(n) * tick
		}
	}
	return busy, available
}

// Resident returns the resident memory of a process in bytes.
func Resident(pid int) (bytes float64, err error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0, fmt.Errorf("the memory of process %d: %w", pid, err)
	}
	return kib * 1024, nil
}
