package chat

// Models is the response of GET /v1/models.
type Models struct {
	Object string      `json:"object"` // "list"
	Data   []ModelCard `json:"data"`
}

// ModelCard is one entry of the model list.
type ModelCard struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"` // "model"
	Created     int64        `json:"created"`
	OwnedBy     string       `json:"owned_by"`
	Root        string       `json:"root"`
	Parent      *string      `json:"parent"`
	MaxModelLen int          `json:"max_model_len"`
	Permission  []Permission `json:"permission"`
}

// Permission lists what clients may do with a model.
type Permission struct {
	ID                 string  `json:"id"`
	Object             string  `json:"object"` // "model_permission"
	Created            int64   `json:"created"`
	AllowCreateEngine  bool    `json:"allow_create_engine"`
	AllowSampling      bool    `json:"allow_sampling"`
	AllowLogprobs      bool    `json:"allow_logprobs"`
	AllowSearchIndices bool    `json:"allow_search_indices"`
	AllowView          bool    `json:"allow_view"`
	AllowFineTuning    bool    `json:"allow_fine_tuning"`
	Organization       string  `json:"organization"`
	Group              *string `json:"group"`
	IsBlocking         bool    `json:"is_blocking"`
}

// Health is the response of the health endpoints.
type Health struct {
	Object  string `json:"object"` // "health.response"
	Message string `json:"message"`
}

// Error is the body of a failed request. Its flat members are the documented form. Error.Error repeats them for
// OpenAI's clients, which read error.message, and for Llama Stack's, which read error.detail.
type Error struct {
	ErrorMembers
	Error struct {
		ErrorMembers
		Detail string `json:"detail"` // the message again
	} `json:"error"`
}

// ErrorMembers describe a failed request.
type ErrorMembers struct {
	Object  string  `json:"object"` // "error"
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // the field at fault, such as messages[0].content
	Code    int     `json:"code"`  // the HTTP status
}
