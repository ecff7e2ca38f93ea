package ranking

// Config are the settings of this API beyond its listener and limits.
type Config struct {
	MaxPassages int `default:"512" help:"Most passages in one request."`
}
