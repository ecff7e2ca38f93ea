//go:build !race

package tokenizers

// raceEnabled reports whether the race detector is on. It makes sync.Pool drop items at random, so allocations vary.
const raceEnabled = false
