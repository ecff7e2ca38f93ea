package memory

import "github.com/KimMachineGun/automemlimit/memlimit"

// Limit is how much memory this process may use, in bytes: the least of the limits of its control groups and the memory of
// the machine; 0 if neither can be read, as on systems other than Linux.
func Limit() int64 {
	limit := int64(0)
	for _, read := range []memlimit.Provider{memlimit.FromCgroup, memlimit.FromSystem} {
		if bytes, err := read(); err == nil && (limit == 0 || int64(bytes) < limit) {
			limit = int64(bytes)
		}
	}
	return limit
}

// Default is the budget where none is set: an eighth of Limit, between 256 MiB and 2 GiB.
func Default() int64 {
	const (
		least   = 256 << 20
		largest = 2 << 30
	)
	return min(max(Limit()/8, least), largest)
}
