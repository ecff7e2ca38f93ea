package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is the unit of times in /proc/PID/stat, which Linux fixes at a hundredth of a second.
const ticks = 10 * time.Millisecond

// CPU is the processor time that the living processes of a pod have used.
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

// cpu sums over the processes of the container's process namespace.
func (c *container) cpu() (total time.Duration, err error) {
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process == nil {
		return 0, fmt.Errorf("container %s does not run", c.spec.Name)
	}
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", process.Process.Pid))
	if err != nil {
		return 0, err
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, folder := range all {
		if space, err := os.Readlink(filepath.Join(folder, "ns/pid")); err != nil || space != own {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		for _, field := range fields[11:13] { // in user mode, and in the kernel
			count, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			total += time.Duration(count) * ticks
		}
	}
	return total, nil
}
