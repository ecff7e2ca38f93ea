package masked

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	ReadyBody   string `enum:"object,true" default:"object" help:"Body of /v1/health/ready: object ({\"status\":\"ready\"}) or true (the bare value)."`
	Model       string `placeholder:"ID" help:"Public id of the model for requests that name none; by default the first."`
	BatchTokens int    `default:"1024" help:"Most tokens in one call to Triton, padding included."`
}
