package memory

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// processLimit returns how much memory this process may use, in bytes: the least of the limits of its control groups
// and the memory of the machine. It is 0 if neither can be read, as on systems other than Linux.
func processLimit() int64 {
	limit := int64(0)
	for _, read := range []memlimit.Provider{memlimit.FromCgroup, memlimit.FromSystem} {
		if bytes, err := read(); err == nil && (limit == 0 || int64(bytes) < limit) {
			limit = int64(bytes)
		}
	}
	return limit
}

// DefaultSize returns the size of a budget if none is set, in bytes: an eighth of what the process may use, between
// 256 MiB and 2 GiB.
func DefaultSize() int64 { return min(max(processLimit()/8, 256<<20), 2<<30) }

// gcPercent is half of Go's default for GOGC. Little of a gateway's memory stays in use (some 15 MB, half as much again
// under load), so a collection is short.
const gcPercent = 50

// TuneGC makes the garbage collector keep the process small, unless GOGC is set.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
