package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc/PID/stat: a hundredth of a second on Linux.
const tick = 10 * time.Millisecond

// CPU returns the processor time that the running processes of a pod have used.
func (n *Node) CPU(name string) (total time.Duration, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.object.Name != name {
			continue
		}
		for _, c := range p.containers {
			used, err := c.cpu()
			if err != nil {
				return 0, err
			}
			total += used
		}
		return total, nil
	}
	return 0, fmt.Errorf("there is no pod %s", name)
}

// cpu adds up the processes of the container's process namespace.
func (c *container) cpu() (total time.Duration, err error) {
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process == nil {
		return 0, fmt.Errorf("container %s does not run", c.spec.Name)
	}
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", process.Process.Pid))
	if err != nil {
		return 0, err
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, folder := range all {
		if other, err := os.Readlink(filepath.Join(folder, "ns/pid")); err != nil || other != namespace {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue // the process has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		for _, field := range fields[11:13] { // user and system time
			count, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			total += time.Duration(count) * tick
		}
	}
	return total, nil
}
