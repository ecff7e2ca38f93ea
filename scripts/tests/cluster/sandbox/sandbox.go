// Package sandbox runs one container of a pod as a process of this machine with its own Linux namespaces: files,
// processes, host name, and the network of its pod. There are no images: the root is this machine's file system under a
// layer for what the container writes, so a container's program must be installed here or mounted.
package sandbox

import (
	"cmp"
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
	// Memory mounts a file system in memory instead of Source.
	Memory bool
}

// Container is a program and its surroundings.
type Container struct {
	// Base is an empty folder for the container's layer and root.
	Base string
	// Network is the file of the pod's network namespace, such as /proc/123/ns/net.
	Network  string
	Hostname string
	Mounts   []Mount
	// Files are written into the root, such as /etc/resolv.conf.
	Files        map[string]string
	ReadOnlyRoot bool
	Directory    string
	Command      []string
	Environment  []string
	// User and Group own the process; only root can set them.
	User, Group int
}

// Argument is the first argument of a program that Start starts as the first process of a container: it must call Main.
const Argument = "sandbox"

// Start starts the container, which prints to output. When its process ends, all others of the container end too, since
// it is the first process of its namespace.
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

// Inside returns the command line that runs a command in a running container.
func Inside(pid int, command []string) []string {
	return append([]string{"nsenter", "--target", fmt.Sprint(pid), "--mount", "--uts", "--ipc", "--net", "--pid",
		"--root", "--wd", "--"}, command...)
}

// Main sets up the container and becomes its program. It returns only if that fails.
func Main(text string) error {
	var c Container
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	runtime.LockOSThread() // the network namespace belongs to the thread
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
	if err := os.Chdir(cmp.Or(c.Directory, "/")); err != nil {
		return err
	}
	if err := c.setUser(); err != nil {
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

// setUser changes the user of this process, which must be root.
func (c *Container) setUser() error {
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

// program returns the file of the command, looked up in the container's PATH.
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
	return "", fmt.Errorf("%s is not found in %s", name, path)
}
