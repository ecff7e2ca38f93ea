//go:build race

package chat_test

// raceEnabled is set in tests that run with -race, in which the decoder's pools of memory do not work.
const raceEnabled = true
