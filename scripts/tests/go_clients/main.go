// Go_clients asks Retort with Go clients of OpenAI's interfaces, and prints what they make of the answers as one JSON
// object.
//
//	go run . URL DATA_URL
//
// URL is that of the main port. Run by test_go_clients.py; failures are printed as text. It is a module of its own, so
// that the gateway does not depend on the clients.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	other "github.com/sashabaranov/go-openai"
)

const (
	talker   = "retort/molecule-reader-v3"
	oneMode  = "sentence-transformers/all-MiniLM-L6-v2"
	twoModes = "retort/minilm-embedqa-v2"
	question = "Which molecule is this?"
)

// asker asks one service.
type asker struct {
	openai openai.Client
	other  *other.Client
	image  string
}

func main() {
	base := os.Args[1] + "/v1"
	config := other.DefaultConfig("not-needed")
	config.BaseURL = base
	a := asker{
		openai: openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("not-needed"), option.WithMaxRetries(0)),
		other:  other.NewClientWithConfig(config),
		image:  os.Args[2],
	}
	told := map[string]any{}
	for name, ask := range map[string]func(context.Context) (any, error){
		"models": a.models, "embeddings": a.embeddings, "errors": a.errors, "chat": a.chat, "responses": a.responses, "go-openai": a.goOpenAI,
	} {
		answer, err := ask(context.Background())
		if err != nil {
			answer = err.Error()
		}
		told[name] = answer
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		panic(err)
	}
}

func (a asker) models(ctx context.Context) (any, error) {
	listed := 0
	models := a.openai.Models.ListAutoPaging(ctx)
	for models.Next() {
		if id := models.Current().ID; id == talker || id == twoModes {
			listed++
		}
	}
	if models.Err() != nil {
		return nil, models.Err()
	}
	one, err := a.openai.Models.Get(ctx, twoModes)
	if err != nil {
		return nil, err
	}
	return []any{listed, one.ID, one.OwnedBy}, nil
}

func (a asker) embeddings(ctx context.Context) (any, error) {
	answer, err := a.openai.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: oneMode,
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"Aspirin is an analgesic.",
			"Paris is in France."}},
	})
	if err != nil {
		return nil, err
	}
	return []int{len(answer.Data), len(answer.Data[0].Embedding)}, nil
}

func (a asker) errors(ctx context.Context) (any, error) {
	_, embedding := a.openai.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "nobody/nothing",
		Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("a")},
	})
	_, model := a.openai.Models.Get(ctx, "nobody/nothing")
	var told []any
	for _, err := range []error{embedding, model} {
		var refused *openai.Error
		if !errors.As(err, &refused) {
			return nil, fmt.Errorf("%T: %w", err, err)
		}
		told = append(told, []any{refused.StatusCode, refused.Code, refused.Param})
	}
	return told, nil
}

func (a asker) chat(ctx context.Context) (any, error) {
	request := openai.ChatCompletionNewParams{
		Model: talker,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: a.image}),
			openai.TextContentPart(question),
		})},
	}
	whole, err := a.openai.Chat.Completions.New(ctx, request)
	if err != nil {
		return nil, err
	}
	var streamed strings.Builder
	stream := a.openai.Chat.Completions.NewStreaming(ctx, request)
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			streamed.WriteString(choice.Delta.Content)
		}
	}
	return []string{whole.Choices[0].Message.Content, streamed.String()}, stream.Err()
}

func (a asker) responses(ctx context.Context) (any, error) {
	answer, err := a.openai.Responses.New(ctx, responses.ResponseNewParams{
		Model: talker,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("What can you read?")},
	})
	if err != nil {
		return nil, err
	}
	return answer.OutputText(), nil
}

// goOpenAI asks with the client that was there before OpenAI's own.
func (a asker) goOpenAI(ctx context.Context) (any, error) {
	vectors, err := a.other.CreateEmbeddings(ctx,
		other.EmbeddingRequest{Model: oneMode, Input: []string{"Aspirin is an analgesic."}})
	if err != nil {
		return nil, err
	}
	chat, err := a.other.CreateChatCompletion(ctx,
		other.ChatCompletionRequest{Model: talker, Messages: []other.ChatCompletionMessage{{
			Role: "user",
			MultiContent: []other.ChatMessagePart{
				{Type: other.ChatMessagePartTypeImageURL, ImageURL: &other.ChatMessageImageURL{URL: a.image}},
				{Type: other.ChatMessagePartTypeText, Text: question},
			},
		}}})
	if err != nil {
		return nil, err
	}
	_, err = a.other.CreateEmbeddings(ctx, other.EmbeddingRequest{Model: "nobody/nothing", Input: "a"})
	var refused *other.APIError
	if !errors.As(err, &refused) {
		return nil, fmt.Errorf("%T: %w", err, err)
	}
	return []any{len(vectors.Data[0].Embedding), chat.Choices[0].Message.Content, refused.HTTPStatusCode,
		refused.Code}, nil
}
