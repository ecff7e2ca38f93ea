package memory

import (
	"os"
	"strconv"
	"strings"
)

// Limit is how much memory this process may use, in bytes: that of its control group (version 2, then 1) or of the
// machine, whichever is less; 0 where neither can be read, as on systems other than Linux.
func Limit() int64 {
	limit := machine()
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no number
		if err == nil && bytes > 0 && (limit == 0 || bytes < limit) {
			limit = bytes
		}
	}
	return limit
}

// machine is MemTotal of /proc/meminfo.
func machine() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			kibibytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kibibytes << 10
		}
	}
	return 0
}

// Default is the budget where none is set: an eighth of Limit, between 256 MiB and 2 GiB.
func Default() int64 {
	const (
		least   = 256 << 20
		largest = 2 << 30
	)
	return min(max(Limit()/8, least), largest)
}
