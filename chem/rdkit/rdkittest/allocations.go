// Package rdkittest measures the work of RDKit by its allocations, for tests that bound it: the count is the same on
// every machine and under any load.
package rdkittest

/*
#cgo LDFLAGS: -l:libtcmalloc_minimal.a
#include <gperftools/malloc_hook_c.h>

static __thread unsigned long allocations;

static void count(const void *memory, size_t size) { allocations++; }

static void start(void) {
  allocations = 0;
  MallocHook_AddNewHook(count);
}

static unsigned long stop(void) {
  MallocHook_RemoveNewHook(count);
  return allocations;
}
*/
import "C"

import "runtime"

// Allocations runs f and counts the allocations of C and C++ in its goroutine. RDKit's algorithms have their state in
// containers, so the count grows with their steps.
func Allocations(f func()) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.start()
	f()
	return int(C.stop())
}
