package main

import "time"

// connectionAge is after how long the gateways of the test end a client's connection, so that clients who keep theirs
// come to new pods too.
const connectionAge = 10 * time.Second

func (s *suite) values(autoscaled bool) string {
	if autoscaled {
		return "tritonReplicas: 1\ngatewayReplicas: 0\nhpa: true\nenv: {RETORT_EMBEDDING_CONCURRENCY: 2, RETORT_RANKING_CONCURRENCY: 2}\n"
	}
	return "tritonReplicas: 2\ngatewayReplicas: 2\n"
}
