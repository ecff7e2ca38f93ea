package memory

import (
	"os"
	"runtime/debug"
)

// collectAt is how much may be allocated between two collections, in percent of what is in use: half of Go's default.
// Little of a gateway's memory stays in use (some 15 MB, half as much again under load), so a collection is short.
const collectAt = 50

// Collect makes the garbage collector keep the process small, unless its user has set GOGC.
func Collect() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
}
