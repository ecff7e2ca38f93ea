package teigrpc

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/teigrpc/teipb"
)

// The services of tei.v1.
type (
	infoServer struct {
		teipb.UnimplementedInfoServer
		*service
	}
	embedServer struct {
		teipb.UnimplementedEmbedServer
		*service
	}
	predictServer struct {
		teipb.UnimplementedPredictServer
		*service
	}
	rerankServer struct {
		teipb.UnimplementedRerankServer
		*service
	}
	tokenizeServer struct {
		teipb.UnimplementedTokenizeServer
		*service
	}
)

// object is the body of a call.
type object map[string]any

// direction returns the HTTP form of a truncation direction.
func direction(d teipb.TruncationDirection) string {
	if d == teipb.TruncationDirection_TRUNCATION_DIRECTION_LEFT {
		return "left"
	}
	return "right"
}

func (s infoServer) Info(ctx context.Context, _ *teipb.InfoRequest) (*teipb.InfoResponse, error) {
	var info struct {
		ModelID               string         `json:"model_id"`
		ModelDtype            string         `json:"model_dtype"`
		ModelType             map[string]any `json:"model_type"`
		MaxConcurrentRequests uint32         `json:"max_concurrent_requests"`
		MaxInputLength        uint32         `json:"max_input_length"`
		MaxBatchTokens        uint32         `json:"max_batch_tokens"`
		MaxClientBatchSize    uint32         `json:"max_client_batch_size"`
		TokenizationWorkers   uint32         `json:"tokenization_workers"`
		Version               string         `json:"version"`
	}
	if _, err := s.call(ctx, "/info", nil, &info); err != nil {
		return nil, err
	}
	modelType := teipb.ModelType_MODEL_TYPE_EMBEDDING
	if _, ok := info.ModelType["reranker"]; ok {
		modelType = teipb.ModelType_MODEL_TYPE_RERANKER
	}
	return &teipb.InfoResponse{
		Version:               info.Version,
		ModelId:               info.ModelID,
		ModelDtype:            info.ModelDtype,
		ModelType:             modelType,
		MaxConcurrentRequests: info.MaxConcurrentRequests,
		MaxInputLength:        info.MaxInputLength,
		MaxBatchTokens:        info.MaxBatchTokens,
		MaxClientBatchSize:    info.MaxClientBatchSize,
		TokenizationWorkers:   info.TokenizationWorkers,
	}, nil
}

func (s embedServer) Embed(ctx context.Context, r *teipb.EmbedRequest) (*teipb.EmbedResponse, error) {
	var vectors [][]float32
	m, err := s.embed(ctx, "/embed", object{
		"inputs":               []string{r.Inputs},
		"truncate":             r.Truncate,
		"truncation_direction": direction(r.TruncationDirection),
		"normalize":            r.Normalize,
		"prompt_name":          r.PromptName,
		"dimensions":           r.Dimensions,
	}, &vectors, r.Inputs)
	if err != nil {
		return nil, err
	}
	return &teipb.EmbedResponse{Embeddings: vectors[0], Metadata: m}, nil
}

// embed makes the call of an embedding.
func (s embedServer) embed(
	ctx context.Context, path string, body object, answer any, text string,
) (*teipb.Metadata, error) {
	if err := s.requireService(teipb.Embed_ServiceDesc, "an embedding"); err != nil {
		return nil, err
	}
	return s.call(ctx, path, body, answer, text)
}

func (s embedServer) EmbedStream(stream grpc.BidiStreamingServer[teipb.EmbedRequest, teipb.EmbedResponse]) error {
	return answerStream(s.service, stream, s.Embed)
}

func (s embedServer) EmbedSparse(ctx context.Context, r *teipb.EmbedSparseRequest) (*teipb.EmbedSparseResponse, error) {
	var vectors [][]*teipb.SparseValue
	m, err := s.embed(ctx, "/embed_sparse", object{
		"inputs":               []string{r.Inputs},
		"truncate":             r.Truncate,
		"truncation_direction": direction(r.TruncationDirection),
		"prompt_name":          r.PromptName,
	}, &vectors, r.Inputs)
	if err != nil {
		return nil, err
	}
	return &teipb.EmbedSparseResponse{SparseEmbeddings: vectors[0], Metadata: m}, nil
}

func (s embedServer) EmbedSparseStream(
	stream grpc.BidiStreamingServer[teipb.EmbedSparseRequest, teipb.EmbedSparseResponse],
) error {
	return answerStream(s.service, stream, s.EmbedSparse)
}

func (s embedServer) EmbedAll(ctx context.Context, r *teipb.EmbedAllRequest) (*teipb.EmbedAllResponse, error) {
	var texts [][][]float32
	m, err := s.embed(ctx, "/embed_all", object{
		"inputs":               []string{r.Inputs},
		"truncate":             r.Truncate,
		"truncation_direction": direction(r.TruncationDirection),
		"prompt_name":          r.PromptName,
	}, &texts, r.Inputs)
	if err != nil {
		return nil, err
	}
	answer := &teipb.EmbedAllResponse{Metadata: m}
	for _, vector := range texts[0] {
		answer.TokenEmbeddings = append(answer.TokenEmbeddings, &teipb.TokenEmbedding{Embeddings: vector})
	}
	return answer, nil
}

func (s embedServer) EmbedAllStream(
	stream grpc.BidiStreamingServer[teipb.EmbedAllRequest, teipb.EmbedAllResponse],
) error {
	return answerStream(s.service, stream, s.EmbedAll)
}

// predict scores one text or pair.
func (s *service) predict(
	ctx context.Context, texts []string, truncate, raw bool, d teipb.TruncationDirection,
) (*teipb.PredictResponse, error) {
	if err := s.requireService(teipb.Predict_ServiceDesc, "a classifier"); err != nil {
		return nil, err
	}
	var batch [][]*teipb.Prediction
	m, err := s.call(ctx, "/predict", object{
		"inputs":               [][]string{texts},
		"truncate":             truncate,
		"raw_scores":           raw,
		"truncation_direction": direction(d),
	}, &batch, texts...)
	if err != nil {
		return nil, err
	}
	return &teipb.PredictResponse{Predictions: batch[0], Metadata: m}, nil
}

func (s predictServer) Predict(ctx context.Context, r *teipb.PredictRequest) (*teipb.PredictResponse, error) {
	return s.predict(ctx, []string{r.Inputs}, r.Truncate, r.RawScores, r.TruncationDirection)
}

func (s predictServer) PredictPair(ctx context.Context, r *teipb.PredictPairRequest) (*teipb.PredictResponse, error) {
	if len(r.Inputs) != 2 {
		return nil, status.Errorf(codes.InvalidArgument, "`inputs` must have a length of 2, not %d", len(r.Inputs))
	}
	return s.predict(ctx, r.Inputs, r.Truncate, r.RawScores, r.TruncationDirection)
}

func (s predictServer) PredictStream(
	stream grpc.BidiStreamingServer[teipb.PredictRequest, teipb.PredictResponse],
) error {
	return answerStream(s.service, stream, s.Predict)
}

func (s predictServer) PredictPairStream(
	stream grpc.BidiStreamingServer[teipb.PredictPairRequest, teipb.PredictResponse],
) error {
	return answerStream(s.service, stream, s.PredictPair)
}

func (s rerankServer) Rerank(ctx context.Context, r *teipb.RerankRequest) (*teipb.RerankResponse, error) {
	if err := s.requireService(teipb.Rerank_ServiceDesc, "a re-ranker"); err != nil {
		return nil, err
	}
	texts := r.Texts
	if texts == nil {
		texts = []string{} // an empty list is refused as such, null as missing
	}
	var ranks []*teipb.Rank
	m, err := s.call(ctx, "/rerank", object{
		"query":                r.Query,
		"texts":                texts,
		"truncate":             r.Truncate,
		"raw_scores":           r.RawScores,
		"return_text":          r.ReturnText,
		"truncation_direction": direction(r.TruncationDirection),
	}, &ranks, append(texts, r.Query)...)
	if err != nil {
		return nil, err
	}
	return &teipb.RerankResponse{Ranks: ranks, Metadata: m}, nil
}

// RerankStream ranks the texts of a stream. raw_scores and return_text of its first message count. The answer, like a
// message, has at most limit bytes.
func (s rerankServer) RerankStream(
	stream grpc.ClientStreamingServer[teipb.RerankStreamRequest, teipb.RerankResponse],
) error {
	if err := s.requireService(teipb.Rerank_ServiceDesc, "a re-ranker"); err != nil {
		return err
	}
	var first *teipb.RerankStreamRequest
	size := 0
	receive := func() (*teipb.RerankStreamRequest, error) {
		r, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = r
		}
		size += 16
		if first.ReturnText {
			size += len(r.Text)
		}
		if size > s.limit {
			return nil, status.Errorf(codes.ResourceExhausted, "the ranks take more than %d bytes", s.limit)
		}
		r.RawScores = first.RawScores
		r.ReturnText = first.ReturnText
		return r, nil
	}
	answer := &teipb.RerankResponse{Metadata: &teipb.Metadata{}}
	add := func(scored *teipb.RerankResponse) error {
		rank := scored.Ranks[0]
		rank.Index = uint32(len(answer.Ranks))
		answer.Ranks = append(answer.Ranks, rank)
		addMetadata(answer.Metadata, scored.Metadata)
		return nil
	}
	if err := answerAll(stream.Context(), s.service, receive, add, s.rerankOne); err != nil {
		return err
	}
	slices.SortStableFunc(answer.Ranks, func(a, b *teipb.Rank) int { return cmp.Compare(b.Score, a.Score) })
	return stream.SendAndClose(answer)
}

// rerankOne scores the text of one message.
func (s rerankServer) rerankOne(ctx context.Context, r *teipb.RerankStreamRequest) (*teipb.RerankResponse, error) {
	return s.Rerank(ctx, &teipb.RerankRequest{
		Query:               r.Query,
		Texts:               []string{r.Text},
		Truncate:            r.Truncate,
		RawScores:           r.RawScores,
		ReturnText:          r.ReturnText,
		TruncationDirection: r.TruncationDirection,
	})
}

// addMetadata adds the counts and times of one call to those of a stream.
func addMetadata(to, m *teipb.Metadata) {
	to.ComputeChars += m.ComputeChars
	to.ComputeTokens += m.ComputeTokens
	to.TotalTimeNs += m.TotalTimeNs
	to.QueueTimeNs += m.QueueTimeNs
	to.InferenceTimeNs += m.InferenceTimeNs
}

func (s tokenizeServer) Tokenize(ctx context.Context, r *teipb.EncodeRequest) (*teipb.EncodeResponse, error) {
	var texts [][]*teipb.SimpleToken
	_, err := s.call(ctx, "/tokenize", object{
		"inputs":             []string{r.Inputs},
		"add_special_tokens": r.AddSpecialTokens,
		"prompt_name":        r.PromptName,
	}, &texts)
	if err != nil {
		return nil, err
	}
	return &teipb.EncodeResponse{Tokens: texts[0]}, nil
}

func (s tokenizeServer) TokenizeStream(
	stream grpc.BidiStreamingServer[teipb.EncodeRequest, teipb.EncodeResponse],
) error {
	return answerStream(s.service, stream, s.Tokenize)
}

func (s tokenizeServer) Decode(ctx context.Context, r *teipb.DecodeRequest) (*teipb.DecodeResponse, error) {
	ids := r.Ids
	if ids == nil {
		ids = []uint32{}
	}
	var texts []string
	_, err := s.call(ctx, "/decode", object{
		"ids":                 [][]uint32{ids},
		"skip_special_tokens": r.SkipSpecialTokens,
	}, &texts)
	if err != nil {
		return nil, err
	}
	return &teipb.DecodeResponse{Text: texts[0]}, nil
}

func (s tokenizeServer) DecodeStream(stream grpc.BidiStreamingServer[teipb.DecodeRequest, teipb.DecodeResponse]) error {
	return answerStream(s.service, stream, s.Decode)
}
