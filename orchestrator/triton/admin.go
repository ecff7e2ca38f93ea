package triton

import (
	"context"

	pb "retort/orchestrator/triton/inferencepb"
)

// Admin is what tests, tools and operators ask of servers; nothing of it serves a request.
type Admin struct{ client *Client }

// Admin returns the administration of the client's replicas.
func (c *Client) Admin() Admin { return Admin{c} }

// LoadOptions replace what the repository says of a model.
type LoadOptions struct {
	// Config is a whole configuration in JSON, used in place of config.pbtxt.
	Config string
	// Files are "<version>/<name>" and their bytes. When there are any, the model's folder is not read at all and
	// Config is required.
	Files map[string][]byte
}

// Load loads or reloads a model on every live replica and waits until it is ready there. While a model is reloaded its
// old form goes on serving. Load needs a server with --model-control-mode=explicit. After an override, a Load without
// options brings config.pbtxt back only when the model's files changed.
func (a Admin) Load(ctx context.Context, name string, options *LoadOptions) error {
	m := &pb.RepositoryModelLoadRequest{ModelName: name, Parameters: make(map[string]*pb.ModelRepositoryParameter)}
	if options != nil && options.Config != "" {
		m.Parameters["config"] = &pb.ModelRepositoryParameter{
			ParameterChoice: &pb.ModelRepositoryParameter_StringParam{StringParam: options.Config}}
	}
	if options != nil {
		for path, content := range options.Files {
			m.Parameters["file:"+path] = &pb.ModelRepositoryParameter{
				ParameterChoice: &pb.ModelRepositoryParameter_BytesParam{BytesParam: content}}
		}
	}
	return a.client.each(ctx, "model_load", func(ctx context.Context, r *replica, _ func(func())) error {
		_, err := r.service.RepositoryModelLoad(ctx, m)
		return err
	})
}

// Unload unloads a model on every live replica. It returns when no new request is taken; those in flight are finished.
// Unloading what is not loaded is no error.
func (a Admin) Unload(ctx context.Context, name string) error {
	return a.client.each(ctx, "model_unload", func(ctx context.Context, r *replica, _ func(func())) error {
		_, err := r.service.RepositoryModelUnload(ctx, &pb.RepositoryModelUnloadRequest{ModelName: name})
		return err
	})
}
