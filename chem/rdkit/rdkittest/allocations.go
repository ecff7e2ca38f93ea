// Package rdkittest counts the work of RDKit, for tests that bound it: a count is the same on every machine, and under
// any load.
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

// Allocations is how often C and C++ allocate memory in the calls of f that are made in its goroutine. RDKit's
// algorithms keep their state in containers, so that the number grows with the steps that they take.
func Allocations(f func()) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.start()
	f()
	return int(C.stop())
}
