package main

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcp calls tools with the official Go client of the Model Context Protocol, in its newest version of the protocol.
func (c *clients) mcp(ctx context.Context) (any, error) {
	var mu sync.Mutex
	steps := 0
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			steps++
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.tools}, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	search := &mcp.CallToolParams{Name: "optimize_molecule", Arguments: map[string]any{
		"smi": "CC(=O)Oc1ccccc1C(=O)O", "iterations": 3, "particles": 8, "min_similarity": 0.3, "seed": 1,
	}}
	search.SetProgressToken("search")
	found, err := session.CallTool(ctx, search)
	if err != nil {
		return nil, err
	}
	drawing := &mcp.CallToolParams{Name: "draw_molecule", Arguments: map[string]any{"smiles": "CCO"}}
	drawn, err := session.CallTool(ctx, drawing)
	if err != nil {
		return nil, err
	}
	image := drawn.Content[0].(*mcp.ImageContent)
	mu.Lock()
	defer mu.Unlock()
	version := session.InitializeResult().ProtocolVersion
	return []any{version, len(listed.Tools), steps, found.IsError, image.MIMEType}, nil
}
