package batch

import "time"

// Config are the settings of files and batches.
type Config struct {
	FileBytes    int64         `default:"209715200" help:"Largest file that may be uploaded, in bytes (200 MB at OpenAI)."`
	Requests     int           `default:"50000" help:"Most lines in a batch."`
	Concurrency  int           `default:"64" help:"Lines of all batches that this gateway sends at once while no client request waits; fewer otherwise."`
	TransferRate int64         `default:"65536" help:"Slowest average rate of an upload or download, in bytes per second, with 20 s of grace. 0: any rate, within an hour."`
	KeepFiles    time.Duration `default:"720h" help:"How long files without an expiry of their own, and ended batches, are kept."`
}
