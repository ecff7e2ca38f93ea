package optimization

import "time"

// Config are the settings of searches as jobs.
type Config struct {
	Searches int           `default:"2" help:"Searches from /generate/jobs that this gateway runs at once."`
	Timeout  time.Duration `name:"search-timeout" default:"24h" help:"Longest time for one such search; then it ends with what it has found."`
	Keep     time.Duration `name:"keep-searches" default:"168h" help:"How long such a search and its result are kept after it ends."`
	MaxJobs  int           `name:"most-searches" default:"1000" help:"Most such searches kept for one key; more are refused."`
}
