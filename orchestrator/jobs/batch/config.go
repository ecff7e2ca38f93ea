package batch

import "time"

// Config are the settings of files and batches.
type Config struct {
	FileBytes    int64         `default:"209715200" help:"Largest file that may be uploaded, in bytes (OpenAI's: 200 MB)."`
	Requests     int           `default:"50000" help:"Most lines of a batch."`
	Concurrency  int           `default:"64" help:"Lines that this gateway asks at once, of all batches, while no client's request waits; fewer beside those."`
	TransferRate int64         `default:"65536" help:"Bytes a second that a file has to be sent or taken at on average, with 20 s more; 0: any pace, within an hour."`
	KeepFiles    time.Duration `default:"720h" help:"How long files are kept that do not say so themselves, and batches that have ended."`
}
