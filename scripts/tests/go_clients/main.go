// Go_clients calls Retort with Go clients of OpenAI's interfaces, and prints their results as one JSON object.
//
//	go run . URL DATA_URL
//
// URL is the main port. test_go_clients.py runs it; errors are printed as results. It is a separate module, so that the
// gateway does not depend on the clients.
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
	chatModel = "retort/molecule-reader-v8"
	oneMode   = "sentence-transformers/all-MiniLM-L6-v2"
	twoModes  = "retort/minilm-embedqa-v2"
	question  = "Which molecule is this?"
)

// clients are the clients of one gateway.
type clients struct {
	openai openai.Client
	other  *other.Client
	image  string
	tools  string // address of the Model Context Protocol
}

func main() {
	base := os.Args[1] + "/v1"
	config := other.DefaultConfig("not-needed")
	config.BaseURL = base
	c := clients{
		openai: openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("not-needed"), option.WithMaxRetries(0)),
		other:  other.NewClientWithConfig(config),
		image:  os.Args[2],
		tools:  os.Args[1] + "/mcp",
	}
	calls := map[string]func(context.Context) (any, error){
		"models": c.models, "embeddings": c.embeddings, "errors": c.errors, "chat": c.chat,
		"responses": c.responses, "go-openai": c.goOpenAI, "mcp": c.mcp,
	}
	if len(os.Args) > 3 { // "stored": only what needs a gateway with jobs
		calls = map[string]func(context.Context) (any, error){os.Args[3]: c.stored}
	}
	results := map[string]any{}
	for name, call := range calls {
		answer, err := call(context.Background())
		if err != nil {
			answer = err.Error()
		}
		results[name] = answer
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
}

func (c clients) models(ctx context.Context) (any, error) {
	listed := 0
	models := c.openai.Models.ListAutoPaging(ctx)
	for models.Next() {
		if id := models.Current().ID; id == chatModel || id == twoModes {
			listed++
		}
	}
	if models.Err() != nil {
		return nil, models.Err()
	}
	one, err := c.openai.Models.Get(ctx, twoModes)
	if err != nil {
		return nil, err
	}
	return []any{listed, one.ID, one.OwnedBy}, nil
}

func (c clients) embeddings(ctx context.Context) (any, error) {
	answer, err := c.openai.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: oneMode,
		Input: openai.EmbeddingNewParamsInputUnion{
			OfArrayOfStrings: []string{"Aspirin is an analgesic.", "Paris is in France."},
		},
	})
	if err != nil {
		return nil, err
	}
	return []int{len(answer.Data), len(answer.Data[0].Embedding)}, nil
}

func (c clients) errors(ctx context.Context) (any, error) {
	_, embedding := c.openai.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "nobody/nothing",
		Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("a")},
	})
	_, model := c.openai.Models.Get(ctx, "nobody/nothing")
	var refusals []any
	for _, err := range []error{embedding, model} {
		var refused *openai.Error
		if !errors.As(err, &refused) {
			return nil, fmt.Errorf("%T: %w", err, err)
		}
		refusals = append(refusals, []any{refused.StatusCode, refused.Code, refused.Param})
	}
	return refusals, nil
}

func (c clients) chat(ctx context.Context) (any, error) {
	message := openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: c.image}),
		openai.TextContentPart(question),
	})
	request := openai.ChatCompletionNewParams{
		Model:    chatModel,
		Messages: []openai.ChatCompletionMessageParamUnion{message},
	}
	whole, err := c.openai.Chat.Completions.New(ctx, request)
	if err != nil {
		return nil, err
	}
	var streamed strings.Builder
	stream := c.openai.Chat.Completions.NewStreaming(ctx, request)
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			streamed.WriteString(choice.Delta.Content)
		}
	}
	return []string{whole.Choices[0].Message.Content, streamed.String()}, stream.Err()
}

func (c clients) responses(ctx context.Context) (any, error) {
	answer, err := c.openai.Responses.New(ctx, responses.ResponseNewParams{
		Model: chatModel,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("What can you read?")},
	})
	if err != nil {
		return nil, err
	}
	return answer.OutputText(), nil
}

// stored continues, reads, lists and deletes responses.
func (c clients) stored(ctx context.Context) (any, error) {
	part := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
	part.OfInputImage.ImageURL = openai.String(c.image)
	text := responses.ResponseInputContentParamOfInputText(question)
	parts := responses.ResponseInputMessageContentListParam{part, text}
	message := responses.ResponseInputItemParamOfMessage(parts, responses.EasyInputMessageRoleUser)
	first, err := c.openai.Responses.New(ctx, responses.ResponseNewParams{
		Model: chatModel,
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{message}},
	})
	if err != nil {
		return nil, err
	}
	next := responses.ResponseNewParams{
		Model:              chatModel,
		Input:              responses.ResponseNewParamsInputUnion{OfString: openai.String("What is its molecular formula?")},
		PreviousResponseID: openai.String(first.ID),
	}
	second, err := c.openai.Responses.New(ctx, next)
	if err != nil {
		return nil, err
	}
	read, err := c.openai.Responses.Get(ctx, second.ID, responses.ResponseGetParams{})
	if err != nil {
		return nil, err
	}
	listed := 0
	page := responses.InputItemListParams{Limit: openai.Int(2)}
	items := c.openai.Responses.InputItems.ListAutoPaging(ctx, second.ID, page)
	for items.Next() {
		listed++
	}
	if items.Err() != nil {
		return nil, items.Err()
	}
	if err := c.openai.Responses.Delete(ctx, first.ID); err != nil {
		return nil, err
	}
	var refusals []any
	for _, call := range []func() error{
		func() error {
			_, err := c.openai.Responses.Get(ctx, first.ID, responses.ResponseGetParams{})
			return err
		},
		func() error { _, err := c.openai.Responses.New(ctx, next); return err },
		func() error { _, err := c.openai.Responses.Cancel(ctx, second.ID); return err },
	} {
		var refused *openai.Error
		if !errors.As(call(), &refused) {
			return nil, errors.New("a wrong request is answered")
		}
		refusals = append(refusals, []any{refused.StatusCode, refused.Code, refused.Param})
	}
	return []any{first.OutputText(), second.OutputText(), read.OutputText(), listed, refusals}, nil
}

// goOpenAI calls with go-openai, which is older than OpenAI's own client.
func (c clients) goOpenAI(ctx context.Context) (any, error) {
	vectors, err := c.other.CreateEmbeddings(ctx,
		other.EmbeddingRequest{Model: oneMode, Input: []string{"Aspirin is an analgesic."}})
	if err != nil {
		return nil, err
	}
	chat, err := c.other.CreateChatCompletion(ctx,
		other.ChatCompletionRequest{Model: chatModel, Messages: []other.ChatCompletionMessage{{
			Role: "user",
			MultiContent: []other.ChatMessagePart{
				{Type: other.ChatMessagePartTypeImageURL, ImageURL: &other.ChatMessageImageURL{URL: c.image}},
				{Type: other.ChatMessagePartTypeText, Text: question},
			},
		}}})
	if err != nil {
		return nil, err
	}
	_, err = c.other.CreateEmbeddings(ctx, other.EmbeddingRequest{Model: "nobody/nothing", Input: "a"})
	var refused *other.APIError
	if !errors.As(err, &refused) {
		return nil, fmt.Errorf("%T: %w", err, err)
	}
	return []any{len(vectors.Data[0].Embedding), chat.Choices[0].Message.Content, refused.HTTPStatusCode,
		refused.Code}, nil
}
