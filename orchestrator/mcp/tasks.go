package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"retort/orchestrator/fault"
)

// tasksExtension is the identifier of the Tasks extension:
// https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md. The library (go-sdk 1.8.0)
// has no extensions of its own, so the methods and results of this one are defined here.
const tasksExtension = "io.modelcontextprotocol/tasks"

// Status is the state of a task.
type Status string

// The states of a task. No task of this server waits for input.
const (
	Working   Status = "working"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Task is a search that outlasts the request that started it.
type Task struct {
	ID        string
	Status    Status
	Message   string // for people
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time // when it is deleted; zero while that is not known
	// Answer is the answer of /generate, and Refusal the API's error, of a Completed task. Error is why a task Failed.
	Answer  json.RawMessage
	Refusal string
	Error   string
}

// Tasks runs searches as tasks. ctx names the caller, whose tasks alone are found.
type Tasks interface {
	// Start starts a search of an API with the body of /generate. After an error the call is answered directly.
	Start(ctx context.Context, api string, body []byte) (Task, error)
	// Get returns a task, or a fault.NotFound.
	Get(ctx context.Context, id string) (Task, error)
	// Cancel asks a task to end. A task that has ended is not changed.
	Cancel(ctx context.Context, id string) error
}

// pollInterval is how often a client is asked to poll a task.
const pollInterval = time.Second

// taskParams are the parameters of the methods of tasks, checked by hand so that an error names the field.
type taskParams struct {
	mcp.ParamsBase
	TaskID         json.RawMessage `json:"taskId"`
	InputResponses json.RawMessage `json:"inputResponses"`
}

// taskResult is the result of the methods of tasks, and that of a call that became a task.
type taskResult struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId,omitempty"`
	Status        Status              `json:"status,omitempty"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     string              `json:"createdAt,omitempty"`
	LastUpdatedAt string              `json:"lastUpdatedAt,omitempty"`
	TTL           *ttl                `json:"ttlMs,omitempty"`
	PollInterval  int64               `json:"pollIntervalMs,omitempty"`
	Result        *mcp.CallToolResult `json:"result,omitempty"`
	Error         *problem            `json:"error,omitempty"`
}

// ttl is a time in ms, or null if it is 0: the task is kept until it has ended, and for a time that starts then.
type ttl int64

func (t ttl) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(int64(t))
}

// Values of resultType.
const (
	resultComplete = "complete"
	resultTask     = "task"
)

// newTaskResult returns the state of a task without what it ended with.
func newTaskResult(resultType string, t Task) *taskResult {
	var keep ttl
	if !t.ExpiresAt.IsZero() {
		keep = ttl(t.ExpiresAt.Sub(t.CreatedAt).Milliseconds())
	}
	return &taskResult{
		ResultType: resultType, TaskID: t.ID, Status: t.Status, StatusMessage: t.Message,
		CreatedAt: t.CreatedAt.UTC().Format(time.RFC3339), LastUpdatedAt: t.UpdatedAt.UTC().Format(time.RFC3339),
		TTL: &keep, PollInterval: pollInterval.Milliseconds(),
	}
}

// addTaskMethods adds the methods of tasks to a server, and turns calls of searches into tasks. request is the context
// of the HTTP request.
func (s *Service) addTaskMethods(request context.Context, server *mcp.Server) error {
	methods := map[string]func(context.Context, *taskParams) (*taskResult, error){
		"tasks/get":    s.getTask,
		"tasks/update": s.updateTask,
		"tasks/cancel": s.cancelTask,
	}
	for name, use := range methods {
		err := mcp.AddReceivingCustomMethod(server, name,
			func(_ context.Context, session *mcp.ServerSession, params *taskParams) (*taskResult, error) {
				if !acceptsTasks(session) {
					return nil, missingCapability()
				}
				result, err := use(request, params)
				return result, s.rpcError(err)
			})
		if err != nil {
			return err
		}
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if ok && acceptsTasks(call.Session) {
				if result := s.startTask(request, call.Params); result != nil {
					return result, nil
				}
			}
			return next(ctx, method, req)
		}
	})
	return nil
}

// acceptsTasks reports whether a client declared the extension on its request. Older versions of the protocol have no
// extensions, and declare capabilities only in their first request.
func acceptsTasks(session *mcp.ServerSession) bool {
	if !isStateless(session) || session.InitializeParams().Capabilities == nil {
		return false
	}
	_, declared := session.InitializeParams().Capabilities.Extensions[tasksExtension]
	return declared
}

// startTask starts a search as a task. It returns nil if the call is to be answered in full instead: it is no search,
// or the storage of jobs is not available or full.
func (s *Service) startTask(ctx context.Context, call *mcp.CallToolParamsRaw) mcp.Result {
	search := s.search(call.Name)
	if search == nil {
		return nil
	}
	arguments, refused := checkArguments(call.Arguments, search.omit)
	if refused != nil {
		return nil
	}
	task, err := s.tasks.Start(ctx, search.api, arguments)
	if err != nil {
		s.logger.Debug().Err(err).Str("tool", call.Name).Msg("search is not started as a task")
		return nil
	}
	return newTaskResult(resultTask, task)
}

func (s *Service) getTask(ctx context.Context, params *taskParams) (*taskResult, error) {
	id, err := params.id()
	if err != nil {
		return nil, err
	}
	t, err := s.tasks.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newTaskResult(resultComplete, t)
	switch {
	case t.Status == Failed:
		r.Error = &problem{Code: jsonrpc.CodeInternalError, Message: t.Error}
	case t.Status == Completed && t.Refusal != "":
		r.Result = refusal("%s", t.Refusal)
	case t.Status == Completed:
		r.Result = result(t.Answer)
	}
	return r, nil
}

// updateTask takes answers to requests for input. No task has such requests, and answers to unknown ones are ignored.
func (s *Service) updateTask(ctx context.Context, params *taskParams) (*taskResult, error) {
	id, err := params.id()
	if err != nil {
		return nil, err
	}
	var responses map[string]json.RawMessage
	if err := json.Unmarshal(params.InputResponses, &responses); err != nil || responses == nil {
		return nil, invalidParams("inputResponses: it must be an object")
	}
	if _, err := s.tasks.Get(ctx, id); err != nil {
		return nil, err
	}
	return &taskResult{ResultType: resultComplete}, nil
}

func (s *Service) cancelTask(ctx context.Context, params *taskParams) (*taskResult, error) {
	id, err := params.id()
	if err != nil {
		return nil, err
	}
	return &taskResult{ResultType: resultComplete}, s.tasks.Cancel(ctx, id)
}

func (p *taskParams) id() (string, error) {
	var id string
	if p == nil || json.Unmarshal(p.TaskID, &id) != nil || id == "" {
		return "", invalidParams("taskId: it must be the id of a task, a text")
	}
	return id, nil
}

func invalidParams(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// missingCapability is the error for a client that uses tasks without declaring the extension.
func missingCapability() *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "the client does not declare the extension " + tasksExtension,
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
	}
}

// rpcError returns an error of Tasks in the form of JSON-RPC.
func (s *Service) rpcError(err error) error {
	var known *jsonrpc.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case fault.KindOf(err) == fault.NotFound:
		return invalidParams("taskId: there is no such task")
	}
	s.logger.Warn().Err(err).Msg("task")
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "tasks are not available, try again later"}
}
