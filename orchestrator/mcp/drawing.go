package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Drawing is the argument of read_drawing.
type Drawing struct {
	Image    string `json:"image" jsonschema:"the drawing: a data: URL, an http(s) address, or PNG, JPEG, WebP or GIF in base64"`
	Question string `json:"question,omitempty" jsonschema:"what to say of the molecule, by default its SMILES"`
	Model    string `json:"model,omitempty" jsonschema:"public id of a chat model that takes images, by default the first of them"`
}

func (s *Service) read(ctx context.Context, in Drawing) *mcp.CallToolResult {
	model, refused := s.imageModel(in.Model)
	if refused != nil {
		return refused
	}
	if !strings.Contains(in.Image, ":") { // base64 has no colon; the bytes tell the format
		in.Image = "data:image/png;base64," + in.Image
	}
	if in.Question == "" {
		in.Question = "What is the SMILES of this molecule?"
	}
	body, err := json.Marshal(map[string]any{"model": model, "messages": []any{map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": in.Question},
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": in.Image}},
	}}}})
	if err != nil {
		return refusal("%v", err)
	}
	status, answer := s.ask(ctx, "chat", http.MethodPost, "/v1/chat/completions", body)
	var completion struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if status != http.StatusOK || json.Unmarshal(answer, &completion) != nil || len(completion.Choices) == 0 {
		return refusal("%s", answer)
	}
	text, err := json.Marshal(map[string]string{"answer": completion.Choices[0].Message.Content})
	if err != nil {
		return refusal("%v", err)
	}
	return result(text)
}

// imageModel returns the chat model to ask about a drawing: the named one, which the API checks, or the first that takes
// images.
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
