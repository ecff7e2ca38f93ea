package chat

import (
	"errors"

	"retort/orchestrator/chat/vision"
)

// Config are the settings of this API beyond its listener and limits.
type Config struct {
	MaxMessages int           `default:"1024" help:"Most messages in one conversation."`
	MaxChoices  int           `default:"16" help:"Most answers to one request (n)."`
	Image       vision.Config `embed:"" prefix:"image-"`
}

// DefaultConfig returns the defaults of the tags.
func DefaultConfig() Config {
	return Config{MaxMessages: 1024, MaxChoices: 16, Image: vision.DefaultConfig()}
}

// Validate reports settings that make no sense.
func (c Config) Validate() error {
	if c.MaxMessages < 1 || c.MaxChoices < 1 {
		return errors.Join(errors.New("max-messages and max-choices must be positive"), c.Image.Validate())
	}
	return c.Image.Validate()
}
