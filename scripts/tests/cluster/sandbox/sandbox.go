// Package sandbox runs one container of a pod as a process of this machine, with Linux namespaces of its own: files,
// processes, host name, and the network of its pod. There is no image: the root is this machine's own file system under
// a layer that keeps what the container writes, so a container's program has to be installed here or mounted.
package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Mount puts a file or folder of this machine into the container.
type Mount struct {
	Source, Target string
	ReadOnly       bool
	// Memory makes it a file system in memory instead of Source.
	Memory bool
}

// Container is what to run and where.
type Container struct {
	// Base is an empty folder for the container's own layer and its root.
	Base string
	// Network is the file of the network namespace of its pod, such as /proc/123/ns/net.
	Network  string
	Hostname string
	Mounts   []Mount
	// Files are written into the root: its /etc/resolv.conf, for one.
	Files        map[string]string
	ReadOnlyRoot bool
	Directory    string
	Command      []string
	Environment  []string
	// User and Group are whom the program runs as; only root can set them.
	User, Group int
}

// Argument is the first argument by which a program that uses this package is started as the first process of a
// container: it has to call Main then.
const Argument = "sandbox"

// Start starts the container; output gets what it prints. The process ends with all that it has started, since it is
// the first one of its process namespace.
func Start(c Container, output *os.File) (*exec.Cmd, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	command := exec.Command("/proc/self/exe", Argument, string(text))
	command.Stdout = output
	command.Stderr = output
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Setpgid:    true,
	}
	return command, command.Start()
}

// Inside is the command line that runs a command within a running container.
func Inside(pid int, command []string) []string {
	return append([]string{"nsenter", "--target", fmt.Sprint(pid), "--mount", "--uts", "--ipc", "--net", "--pid",
		"--root", "--wd", "--"}, command...)
}

// Main makes the container's surroundings and becomes its program. It returns only where that fails.
func Main(text string) error {
	var c Container
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	runtime.LockOSThread() // the network namespace is the thread's
	if err := join(c.Network); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return err
	}
	root, err := c.root()
	if err != nil {
		return err
	}
	if err := unix.Chroot(root); err != nil {
		return err
	}
	if err := os.Chdir(c.directory()); err != nil {
		return err
	}
	if err := c.become(); err != nil {
		return err
	}
	program, err := c.program()
	if err != nil {
		return err
	}
	return unix.Exec(program, c.Command, c.Environment)
}

func join(network string) error {
	file, err := os.Open(network)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
}

func (c *Container) directory() string {
	if c.Directory == "" {
		return "/"
	}
	return c.Directory
}

// become takes on the user, where this process is root of the machine.
func (c *Container) become() error {
	if c.User == 0 {
		return nil
	}
	if err := unix.Setgroups([]int{c.Group}); err != nil {
		return err
	}
	if err := unix.Setresgid(c.Group, c.Group, c.Group); err != nil {
		return err
	}
	return unix.Setresuid(c.User, c.User, c.User)
}

// program is the file of the command, looked up along the container's own PATH.
func (c *Container) program() (string, error) {
	name := c.Command[0]
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, variable := range c.Environment {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not found along %s", name, path)
}
