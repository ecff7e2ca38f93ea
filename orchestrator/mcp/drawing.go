package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drawingArguments are the arguments of read_drawing.
type drawingArguments struct {
	Image    string `json:"image" jsonschema:"the drawing: a data: URL, an http(s) address, or PNG, JPEG, WebP or GIF in base64"`
	Question string `json:"question,omitempty" jsonschema:"what to say of the molecule, by default its SMILES"`
	Model    string `json:"model,omitempty" jsonschema:"public id of a chat model that takes images, by default the first of them"`
}

func (s *Service) readDrawing(ctx context.Context, in drawingArguments) *mcp.CallToolResult {
	model, refused := s.imageModel(in.Model)
	if refused != nil {
		return refused
	}
	if !strings.Contains(in.Image, ":") { // base64, whose format the chat API detects from the bytes
		in.Image = "data:image/png;base64," + in.Image
	}
	if in.Question == "" {
		in.Question = "What is the SMILES of this molecule?"
	}
	content := []any{
		map[string]any{"type": "text", "text": in.Question},
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": in.Image}},
	}
	body := map[string]any{"model": model, "messages": []any{map[string]any{"role": "user", "content": content}}}
	var completion struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if refused := s.call(ctx, "chat", "/v1/chat/completions", body, &completion); refused != nil {
		return refused
	}
	if len(completion.Choices) == 0 {
		return refusal("the model gave no answer")
	}
	return resultOf(map[string]string{"answer": completion.Choices[0].Message.Content})
}

// imageModel returns the chat model that reads a drawing: the named one, which the API checks, or the first one that
// accepts images.
func (s *Service) imageModel(named string) (model string, refused *mcp.CallToolResult) {
	if named != "" {
		return named, nil
	}
	models := s.imageModels()
	if len(models) == 0 {
		return "", refusal("no chat model that takes images is ready")
	}
	return models[0], nil
}
