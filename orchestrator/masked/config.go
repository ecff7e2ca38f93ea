package masked

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	ReadyBody   string `enum:"object,true" default:"object" help:"Body of /v1/health/ready: object ({\"status\":\"ready\"}) or true (the bare value)."`
	GenMol      int    `enum:"1,2" default:"1" name:"genmol" help:"Version of GenMol whose interface is served: 1 or 2. With 2, noise is 1.0 by default, step_size is ignored, and molecules that are missing after all attempts are drawn with longer masks."`
	Model       string `placeholder:"ID" help:"Public id of the model for requests that name none; by default the first."`
	BatchTokens int    `default:"1024" help:"Most tokens in one call to Triton, padding included."`
}
