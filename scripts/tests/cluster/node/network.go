package node

import (
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
)

// network is a pod's network namespace. It lasts as long as its holder, a process that only sleeps.
type network struct {
	holder *exec.Cmd
}

// lastLink numbers the virtual devices, whose names must be short.
var lastLink atomic.Int64

// newNetwork makes a namespace with one device on the bridge.
func newNetwork(c Config, address string) (*network, error) {
	holder := exec.Command("sleep", "infinity")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := holder.Start(); err != nil {
		return nil, err
	}
	n := &network{holder: holder}
	outside := fmt.Sprintf("pod%d", lastLink.Add(1))
	within := fmt.Sprintf("nsenter --target %d --net ", holder.Process.Pid)
	for _, line := range []string{
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", outside, holder.Process.Pid),
		fmt.Sprintf("ip link set %s master %s up", outside, c.Bridge),
		within + "ip link set lo up",
		within + "ip addr add " + address + "/16 dev eth0",
		within + "ip link set eth0 up",
		within + "ip route add default via " + c.Gateway,
	} {
		if err := Command(line); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

func (n *network) path() string { return fmt.Sprintf("/proc/%d/ns/net", n.holder.Process.Pid) }

func (n *network) close() {
	if n == nil {
		return
	}
	_ = n.holder.Process.Kill()
	_ = n.holder.Wait()
}

// Command runs a command line without quoting; its error has what the command printed.
func Command(line string) error {
	words := strings.Fields(line)
	if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, output)
	}
	return nil
}
