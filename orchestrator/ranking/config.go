package ranking

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	MaxPassages int    `default:"512" help:"Most passages in one request."`
	Errors      string `enum:"documented,openai" default:"documented" help:"Form of errors: documented (error is a text) or openai (error is an object)."`
}
