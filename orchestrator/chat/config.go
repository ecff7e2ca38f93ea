package chat

import (
	"errors"

	"retort/orchestrator/chat/vision"
)

// Config has the settings of this API beyond its listener and limits.
type Config struct {
	MaxMessages int           `default:"1024" help:"Most messages in one conversation."`
	MaxChoices  int           `default:"16" help:"Most answers to one request (its n)."`
	Image       vision.Config `embed:"" prefix:"image-"`
}

// Validate reports settings that contradict each other or are out of range.
func (c Config) Validate() error {
	err := c.Image.Validate()
	if c.MaxMessages < 1 || c.MaxChoices < 1 {
		return errors.Join(errors.New("max-messages and max-choices must be positive"), err)
	}
	return err
}
