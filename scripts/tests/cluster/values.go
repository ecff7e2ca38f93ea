package main

import (
	"encoding/json"
	"time"
)

// connectionAge is the age at which the test's gateways end a client's connection, so that clients with long
// connections reach new pods too.
const connectionAge = 10 * time.Second

// values returns the values for the chart: two pods of each component, or the gateway under its autoscaler with few
// concurrent requests in each pod. Timings are the chart's own, except the autoscaler's.
func (s *suite) values(autoscaled bool) string {
	settings := map[string]any{"RETORT_CONNECTION_AGE": connectionAge.String()}
	gateway := map[string]any{"replicas": 2, "env": settings}
	triton := map[string]any{"replicas": 2}
	if autoscaled {
		settings["RETORT_EMBEDDING_CONCURRENCY"] = 2
		settings["RETORT_RANKING_CONCURRENCY"] = 2
		triton["replicas"] = 1
		gateway["autoscaling"] = map[string]any{
			"enabled":        true,
			"minReplicas":    1,
			"maxReplicas":    maxGateways,
			"targetWaiting":  2,
			"targetInFlight": 0,
			"targetCPU":      0,
			"behavior": map[string]any{"scaleDown": map[string]any{
				"stabilizationWindowSeconds": 10,
				"policies":                   []any{map[string]any{"type": "Pods", "value": 1, "periodSeconds": 10}},
			}},
		}
	}
	text, err := json.Marshal(map[string]any{"gateway": gateway, "triton": triton})
	if err != nil {
		panic(err) // only maps, numbers and words
	}
	return string(text)
}
