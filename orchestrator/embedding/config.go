package embedding

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	MaxInputs int    `default:"8192" help:"Most texts in one request, and most chunks of its texts with truncate CHUNK."`
	Errors    string `enum:"documented,openai" default:"documented" help:"Form of errors: documented (error is a text) or openai (error is an object)."`
	Tokens    string `enum:"cl100k_base,refuse" default:"cl100k_base" help:"Numbers in place of texts: cl100k_base decodes them as tokens of that encoding, as OpenAI's clients send them; refuse rejects them."`
	InputType string `enum:"documented,lenient" default:"documented" help:"No input_type for a model with two modes, or any for a model with one: documented refuses the request; lenient uses the model's default mode, as /v1 of the main port always does."`
	GRPCPort  int    `name:"grpc-port" default:"0" help:"Port of the gRPC services of text-embeddings-inference and of NVIDIA's NeMo Retriever over this API (0: none, -1: any free one)."`
}
