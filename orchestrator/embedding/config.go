package embedding

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	MaxInputs int    `default:"8192" help:"Most texts in one request."`
	Errors    string `enum:"documented,openai" default:"documented" help:"Form of errors: documented (error is a text) or openai (error is an object, as OpenAI's clients expect)."`
	Tokens    string `enum:"cl100k_base,refuse" default:"cl100k_base" help:"How to treat numbers sent in place of texts: cl100k_base decodes them as tokens of that encoding, as OpenAI's clients send them; refuse rejects them."`
	InputType string `enum:"documented,lenient" default:"documented" help:"How to treat an input_type that does not fit the model: documented refuses it for models with one mode and requires it for models with two; lenient ignores it and uses the default mode of the model. The main port's /v1 is always lenient."`
}
