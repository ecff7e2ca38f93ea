package embedding

// Config are the settings of this API beyond its listener and limits.
type Config struct {
	MaxInputs int `default:"8192" help:"Most texts in one request."`
}
