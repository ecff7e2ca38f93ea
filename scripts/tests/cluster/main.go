// Command cluster installs the chart of scripts/deploy into a real Kubernetes control plane on this machine and shows
// what operators rely on: updates, losses, scaling and new models, each under the load of outside clients. It prints a
// line of figures for each and fails where a promise is not kept. README.md says how it works.
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
	if os.Getenv(inside) == "" {
		os.Exit(apart())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s := &suite{}
	flag.StringVar(&s.binaries, "binaries", ".cache/cluster", "folder with controlplane and helm")
	flag.StringVar(&s.checkout, "checkout", ".",
		"checkout to test, with bin/retort and what scripts/triton/serve.py installs")
	flag.StringVar(&s.triton, "triton", "",
		"checkout in which scripts/triton/serve.py has installed Triton; that to test by default")
	flag.StringVar(&s.chart, "chart", "scripts/deploy/chart", "folder of the chart, in the checkout")
	flag.StringVar(&s.only, "only", "", "names of the parts to run, with commas between; all by default")
	flag.Parse()
	fail(s.run(ctx))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		os.Exit(1)
	}
}

// inside is the variable by which this program knows that it runs in namespaces of its own.
const inside = "RETORT_CLUSTER_TEST_INSIDE"

// apart runs this program again in namespaces of its own, as root of them: its bridge, addresses and ports are
// invisible to the machine, and whatever it starts ends with it.
func apart() int {
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Stdin = os.Stdin
	command.Stdout = os.Stdout
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), inside+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: Linux namespaces are not to be had here:", err)
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

// mountProcesses makes /proc that of the new process namespace.
func mountProcesses() error {
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return err
	}
	return syscall.Mount("proc", "/proc", "proc", 0, "")
}

// images are the programs of this machine that stand for the images of the chart.
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
				{Source: s.at("scripts/tests/cluster/tritonserver"), Target: "/opt/tritonserver/bin/tritonserver",
					ReadOnly: true},
			},
			Environment: append(environment[1:], "TRITONSERVER="+server),
		},
	}, nil
}
