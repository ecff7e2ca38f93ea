package comparison

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc: USER_HZ, 100 on every Linux that Go runs on (proc(5)).
const tick = 10 * time.Millisecond

// Processes are what serves: the roots of process trees. Its figures show what a side costs, which a busy machine blurs
// less than how fast it is.
type Processes []int

// Known leaves out what has no process id.
func Known(all ...int) (known Processes) {
	for _, pid := range all {
		if pid > 0 {
			known = append(known, pid)
		}
	}
	return known
}

// used returns the processor time that the trees have used so far.
func (p Processes) used() time.Duration {
	parents, times := everyProcess()
	var sum time.Duration
	for pid := range times {
		if p.own(pid, parents) {
			sum += times[pid]
		}
	}
	return sum
}

// own reports whether a process is one of the roots or descends from one.
func (p Processes) own(pid int, parents map[int]int) bool {
	for ; pid > 1; pid = parents[pid] {
		for _, root := range p {
			if pid == root {
				return true
			}
		}
	}
	return false
}

// everyProcess reads parent and processor time of all processes.
func everyProcess() (parents map[int]int, times map[int]time.Duration) {
	parents = map[int]int{}
	times = map[int]time.Duration{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // fails only for a broken pattern
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		// A name may hold blanks and brackets; after its last bracket come state, parent, …
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parents[pid], _ = strconv.Atoi(f[1])
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		times[pid] = time.Duration(user+system) * tick
	}
	return parents, times
}

// machine returns the processor time of all cores so far: spent on anything, and in all. Time that a hypervisor took
// away counts as spent.
func machine() (busy, all time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:9] { // user nice system idle iowait irq softirq steal
		n, _ := strconv.Atoi(field)
		all += time.Duration(n) * tick
		if i != 3 && i != 4 {
			busy += time.Duration(n) * tick
		}
	}
	return busy, all
}
