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
}

func (s *Service) read(ctx context.Context, in Drawing) *mcp.CallToolResult {
	models := s.models("chat")
	if len(models) == 0 {
		return refusal("no model that reads drawings is ready")
	}
	if !strings.Contains(in.Image, ":") { // base64 has no colon; the bytes tell the format
		in.Image = "data:image/png;base64," + in.Image
	}
	if in.Question == "" {
		in.Question = "What is the SMILES of this molecule?"
	}
	body, err := json.Marshal(map[string]any{"model": models[0], "messages": []any{map[string]any{"role": "user", "content": []any{
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
