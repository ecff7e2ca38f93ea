package ranking

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	MaxPassages  int    `default:"512" help:"Most passages or texts in one request."`
	MaxDocuments int    `default:"10000" help:"Most documents in one request to /v2/rerank, /v1/rerank or /rerank."`
	Errors       string `enum:"documented,openai" default:"documented" help:"Form of errors: documented (error is a text) or openai (error is an object)."`
	GRPCPort     int    `name:"grpc-port" default:"0" help:"Port of the gRPC services of text-embeddings-inference and of NVIDIA's NeMo Retriever over this API (0: none, -1: any free one)."`
}
