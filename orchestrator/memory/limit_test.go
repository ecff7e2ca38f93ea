package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// nestedLimit is the memory limit of the test's control group, in bytes.
const nestedLimit = 300 << 20

// inGroup is set in the environment of the process that TestLimitOfNestedGroup starts.
const inGroup = "RETORT_TEST_IN_GROUP"

// TestLimitOfNestedGroup runs itself in a control group below its own, as systemd does for a unit with MemoryMax. It is
// skipped without the right to create one.
func TestLimitOfNestedGroup(t *testing.T) {
	if os.Getenv(inGroup) != "" {
		var line string
		fmt.Scanln(&line) // the parent has moved this process into the group
		if limit := processLimit(); limit != nestedLimit {
			t.Errorf("the limit is %d bytes, want %d", limit, nestedLimit)
		}
		return
	}
	group := nestedGroup(t)
	child := exec.Command(os.Args[0], "-test.run=^TestLimitOfNestedGroup$")
	child.Env = append(os.Environ(), inGroup+"=1")
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	child.Stdout, child.Stderr = &output, &output
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	moved := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(child.Process.Pid)), 0)
	input.Close()
	err = child.Wait()
	if moved != nil {
		t.Skipf("cannot move a process into a control group: %v", moved)
	}
	if err != nil {
		t.Errorf("in the group: %v\n%s", err, &output)
	}
}

// nestedGroup creates a control group with nestedLimit below the one of this process.
func nestedGroup(t *testing.T) string {
	t.Helper()
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		root := "/sys/fs/cgroup"
		file := "memory.max"
		switch {
		case len(fields) == 3 && fields[1] == "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case len(fields) < 3 || fields[1] != "":
			continue
		}
		group, err := os.MkdirTemp(filepath.Join(root, fields[2]), "retort-test-")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Skipf("cannot create a control group: %v", err)
		}
		t.Cleanup(func() { os.Remove(group) })
		if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(nestedLimit)), 0); err != nil {
			os.Remove(group)
			continue // the group has no memory controller
		}
		return group
	}
	t.Skip("no control group bounds memory here")
	return ""
}
