// Command cluster installs the chart of scripts/deploy into a real Kubernetes control plane on this machine and tests
// what operators rely on: updates, losses, scaling and new models, each under the load of outside clients. It prints a
// line of figures for each part and fails if one does not hold. README.md describes the test.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"retort-cluster-test/node"
	"retort-cluster-test/sandbox"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == sandbox.Argument {
		fail(sandbox.Main(os.Args[2]))
	}
	if os.Getenv(insideVariable) == "" {
		os.Exit(runInside())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s := &suite{}
	flag.StringVar(&s.binaries, "binaries", ".cache/cluster", "folder with controlplane and helm")
	flag.StringVar(&s.checkout, "checkout", ".",
		"checkout to test, with bin/retort and the Triton that scripts/triton/serve.py installs")
	flag.StringVar(&s.triton, "triton", "",
		"checkout in which scripts/triton/serve.py has installed Triton; by default the checkout to test")
	flag.StringVar(&s.chart, "chart", "scripts/deploy/chart", "folder of the chart, in the checkout")
	flag.StringVar(&s.only, "only", "", "names of the parts to run, separated by commas; all by default")
	flag.Parse()
	fail(s.run(ctx))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		os.Exit(1)
	}
}

// insideVariable is set in the process that runs in its own namespaces.
const insideVariable = "RETORT_CLUSTER_TEST_INSIDE"

// runInside runs this program again as root of its own namespaces and returns the exit status. The machine does not see
// its bridge, addresses and ports, and all processes that it starts end with it.
func runInside() int {
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Stdin = os.Stdin
	command.Stdout = os.Stdout
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), insideVariable+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC |
			syscall.CLONE_NEWUTS,
		Pdeathsig: syscall.SIGKILL,
	}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: this machine allows no Linux namespaces:", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = command.Process.Signal(s)
		}
	}()
	_ = command.Wait()
	return max(command.ProcessState.ExitCode(), 0)
}

// mountProc makes /proc show the new process namespace.
func mountProc() error {
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return err
	}
	return syscall.Mount("proc", "/proc", "proc", 0, "")
}

// images returns the programs of this machine that stand for the chart's images.
func (s *suite) images() (map[string]node.Image, error) {
	text, err := exec.Command("python3", s.at("scripts/tests/cluster/triton.py"), cmp.Or(s.triton, s.checkout)).Output()
	if err != nil {
		return nil, fmt.Errorf("the local Triton is not installed: %w", err)
	}
	environment := strings.Split(strings.TrimSpace(string(text)), "\n")
	server := environment[0]
	return map[string]node.Image{
		"retort": {
			Mounts:      []sandbox.Mount{{Source: s.at("bin/retort"), Target: "/usr/local/bin/retort", ReadOnly: true}},
			Environment: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
			Entrypoint:  []string{"/usr/local/bin/retort"},
			User:        65532,
		},
		"retort-triton": {
			Mounts: []sandbox.Mount{
				{
					Source:   s.at("scripts/tests/cluster/tritonserver"),
					Target:   "/opt/tritonserver/bin/tritonserver",
					ReadOnly: true,
				},
			},
			Environment: append(environment[1:], "TRITONSERVER="+server),
		},
	}, nil
}
