package embedding

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	MaxInputs int    `default:"8192" help:"Most texts in one request."`
	Errors    string `enum:"documented,openai" default:"documented" help:"Form of errors: documented (error is a text), or openai (error is an object, as OpenAI's clients expect)."`
	Tokens    string `enum:"cl100k_base,refuse" default:"cl100k_base" help:"What numbers in the place of texts are: tokens of OpenAI's encoding cl100k_base, as its clients send them, or refused."`
	InputType string `enum:"documented,lenient" default:"documented" help:"Where input_type does not fit the model: documented refuses it for a model with one mode and asks for it where there are two; lenient ignores it, and takes the model's default mode. The main port's /v1 is always lenient."`
}
