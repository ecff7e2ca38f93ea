//go:build !race

package tokenizers

// raceEnabled: the race detector makes sync.Pool forget what it holds, so nothing can be said of allocations.
const raceEnabled = false
