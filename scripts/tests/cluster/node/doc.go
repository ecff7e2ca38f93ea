// Package node is a small kubelet and a scheduler for tests: pods become processes of this machine (see the package
// sandbox), each pod with a network namespace and an address of its own behind a bridge.
//
// What it does as a kubelet: init containers, container environment (fieldRef, secretKeyRef, configMapKeyRef, whole
// sources), volumes (emptyDir, hostPath, configMap, secret, downwardAPI, projected, persistent claims on hostPath),
// startup, liveness and readiness probes, preStop, SIGTERM with the pod's grace, restarts with growing pauses, the
// pod's conditions. What it does not: images are names of programs of this machine, resources are not limited, network
// policies are not enforced.
package node
