package batch

import "time"

// clock is the time by which files and batches expire, and ids are made; tests set it.
var clock = time.Now

func now() int64 { return clock().Unix() }
