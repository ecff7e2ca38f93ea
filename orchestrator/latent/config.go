package latent

// Config holds the settings of this API beyond its listener and limits.
type Config struct {
	Model        string `placeholder:"ID" help:"Public id of the model to serve if several are loaded; by default the first by name."`
	MaxSequences int    `default:"4096" help:"Most molecules in one request to /embedding or /hidden."`
	MaxHiddens   int    `default:"4096" help:"Most hidden states in one request to /decode."`
	MaxSeeds     int    `default:"256" help:"Most seeds in one request to /sampling or /generate."`
	Generated    string `enum:"strings,objects" default:"strings" help:"Form of the answers of /generate, unless a request chooses: strings, or objects with smiles and score, as the published service sends."`
}
